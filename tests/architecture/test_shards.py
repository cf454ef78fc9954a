"""Every statement can run on Citus, on the shards that it declares: see `tests.support.shards`."""

import pytest

from tests.support.shards.exceptions import unexpected
from tests.support.shards.rules import check_query
from tests.support.shards.tree import check_function, check_replacement, check_tables, violations


def test_every_statement_can_run_on_the_shards_that_it_declares() -> None:
    assert unexpected(violations()) == []


ONE_USER = """
-- shard: $1
SELECT f.to_user_id, r.kind
FROM following f
LEFT JOIN follower r ON r.to_user_id = f.from_user_id AND r.from_user_id = f.to_user_id
WHERE f.from_user_id = $1 AND EXISTS (
    SELECT 1 FROM outbox o WHERE o.from_user_id = f.from_user_id AND o.to_user_id = f.to_user_id
)
ORDER BY f.since LIMIT $2 FOR UPDATE
"""

MANY_USERS = """
-- shard: $1[], $2
WITH own AS MATERIALIZED (SELECT to_user_id FROM outbox WHERE from_user_id = $2)
SELECT c.user_id, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.to_user_id AS id FROM following f
    WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1) AND f.kind = 1
    ORDER BY f.since LIMIT 10
) p
WHERE c.user_id = ANY ($1::bigint[]) AND p.id <> ALL (ARRAY(SELECT to_user_id FROM own))
"""

INSERTS = """
-- shard: $1[]
INSERT INTO following_count (user_id) SELECT unnest($1::bigint[]) ON CONFLICT (user_id) DO NOTHING
"""

TWO_USERS = """
-- shard: $1, $2
WITH own AS MATERIALIZED (SELECT kind FROM following WHERE from_user_id = $1 AND to_user_id = $2),
     other AS MATERIALIZED (SELECT kind FROM following WHERE from_user_id = $2 AND to_user_id = $1)
SELECT own.kind, other.kind FROM own CROSS JOIN other
"""

REFERENCES = """
-- shard: $1
SELECT a.state FROM receipt r LEFT JOIN account a ON a.user_id = r.other_id WHERE r.actor_id = $1
"""


@pytest.mark.parametrize("sql", [ONE_USER, MANY_USERS, INSERTS, TWO_USERS, REFERENCES])
def test_a_statement_that_stays_on_its_shards_is_accepted(sql: str) -> None:
    assert check_query("q", sql) == []


VIOLATIONS = [
    ("SELECT kind FROM following WHERE from_user_id = $1", "declaration", "`-- shard: $1`"),
    ("-- shard: mine\nSELECT 1", "declaration", "`-- shard: $1`"),
    ("-- shard: local\nSELECT kind FROM following", "shard", "`-- shard: fan-out`"),
    (
        "-- shard: $1\nSELECT kind FROM follower WHERE from_user_id = $1",
        "shard",
        "`follower.to_user_id = $1`",
    ),
    (
        "-- shard: $1[]\nSELECT c.follows FROM following_count c JOIN following f"
        " ON f.from_user_id = c.user_id WHERE c.user_id = ANY ($1)",
        "shard",
        "`f.from_user_id = ANY ($1)`",
    ),
    (
        "-- shard: $1\nSELECT f.kind FROM following f JOIN following b"
        " ON b.from_user_id = f.to_user_id WHERE f.from_user_id = $1",
        "join",
        "f.from_user_id = b.from_user_id",
    ),
    (
        "-- shard: $1, $2\nSELECT f.kind, b.kind FROM following f, following b"
        " WHERE f.from_user_id = $1 AND b.from_user_id = $2",
        "join",
        "MATERIALIZED CTE",
    ),
    (
        "-- shard: fan-out\nSELECT c.user_id, p.since FROM following_count c"
        " CROSS JOIN unnest($1::smallint[]) AS k (kind) CROSS JOIN LATERAL (SELECT f.since"
        " FROM following f WHERE f.from_user_id = c.user_id AND f.kind = k.kind LIMIT 2) p",
        "limited_lateral",
        "UNION ALL",
    ),
    (
        "-- shard: fan-out\nSELECT u.id, c.follows FROM unnest($1::bigint[]) AS u (id)"
        " LEFT JOIN following_count c ON c.user_id = u.id",
        "outer_join",
        "`COLUMN = ANY ($n)`",
    ),
    ("-- shard: $1\nSELECT FROM receipt WHERE actor_id = $1", "empty_select", "`SELECT 1`"),
    (
        "-- shard: $1\nSELECT 1 FROM receipt r WHERE actor_id = $1 AND EXISTS"
        " (SELECT FROM account a WHERE a.user_id = r.other_id)",
        "empty_select",
        "`SELECT 1`",
    ),
    (
        "-- shard: fan-out\nSELECT id FROM receipt WHERE made_at < $1 LIMIT 5 FOR UPDATE",
        "lock",
        "`COLUMN = $n`",
    ),
    (
        "-- shard: $1\nUPDATE receipt SET made_at = extract(epoch FROM clock_timestamp())"
        " WHERE actor_id = $1",
        "volatile",
        "as a parameter",
    ),
    (
        "-- shard: fan-out\nUPDATE outbox SET lane = lane_of(to_user_id)",
        "volatile",
        "as a parameter",
    ),
    (
        "-- shard: fan-out\nINSERT INTO outbox (lane, to_user_id) VALUES (1, $1)",
        "unplaced",
        "list of columns",
    ),
    (
        "-- shard: $1\nUPDATE following SET from_user_id = $2 WHERE from_user_id = $1",
        "moved_row",
        "insert another",
    ),
    (
        "-- shard: fan-out\nWITH RECURSIVE t (id) AS (SELECT user_id FROM affinity UNION ALL"
        " SELECT a.other_id FROM t JOIN affinity a ON a.user_id = t.id) SELECT id FROM t",
        "recursion",
        "in steps",
    ),
    (
        "-- shard: local\nSELECT e.waits FROM read_ends($1::bigint[], $2::bigint[]) e",
        "plain_function",
        "`-- shard: plain`",
    ),
    ("-- shard: local\nSELECT write_batch($1::jsonb[])", "plain_function", "`-- shard: plain`"),
    (
        "-- shard: $1\nDELETE FROM outbox WHERE from_user_id = $1"
        " RETURNING (SELECT count(*) FROM read_ends(ARRAY[from_user_id], ARRAY[to_user_id]))",
        "plain_function",
        "`-- shard: plain`",
    ),
]


REJECTED_CHANGES = [
    (
        "-- shard: $1\nUPDATE following_count"
        " SET paced_until = extract(epoch FROM clock_timestamp()) WHERE user_id = $1::bigint",
        "volatile",
        "as a parameter",
    ),
    (
        "-- shard: $1\nDELETE FROM following_count WHERE user_id = $1::bigint"
        " AND paced_until < extract(epoch FROM clock_timestamp())",
        "volatile",
        "as a parameter",
    ),
    (
        "-- shard: $1\nUPDATE receipt SET outcome = concat(outcome, 'x')"
        " WHERE actor_id = $1::bigint",
        "stable_of_column",
        "as a parameter",
    ),
    (
        "-- shard: $1\nUPDATE following_count SET paced_until"
        " = extract(epoch FROM now() + make_interval(secs => friends)) WHERE user_id = $1::bigint",
        "stable_of_column",
        "as a parameter",
    ),
    (
        "-- shard: $1\nUPDATE following_count SET paced_until"
        " = CASE WHEN follows > 0 THEN extract(epoch FROM now()) END WHERE user_id = $1::bigint",
        "chosen_call",
        "MATERIALIZED CTE",
    ),
    (
        "-- shard: local\nUPDATE account SET changed_at"
        " = coalesce(changed_at, extract(epoch FROM current_timestamp)) WHERE user_id = $1::bigint",
        "chosen_call",
        "MATERIALIZED CTE",
    ),
    (
        "-- shard: $1\nINSERT INTO following_count (user_id) VALUES ($1::bigint)"
        " ON CONFLICT (user_id) DO UPDATE SET paced_until = extract(epoch FROM now())",
        "mutable_conflict",
        "`excluded.COLUMN`",
    ),
    (
        "-- shard: $1\nUPDATE following_count SET follows = 1 WHERE user_id = $1::bigint"
        " RETURNING now()",
        "mutable_returning",
        "around the change",
    ),
    (
        "-- shard: $1\nUPDATE following_count SET follows = CASE friends WHEN 1 THEN 2 ELSE 3 END"
        " WHERE user_id = $1::bigint",
        "simple_case",
        "`CASE WHEN x = ...`",
    ),
    (
        "-- shard: $1\nINSERT INTO following_count AS c (user_id) VALUES ($1::bigint)"
        " ON CONFLICT (user_id) DO UPDATE SET follows = CASE c.friends WHEN 1 THEN 2 ELSE 3 END",
        "simple_case",
        "`CASE WHEN x = ...`",
    ),
    (
        "-- shard: $1\nDELETE FROM following_count WHERE user_id = $1::bigint"
        " RETURNING CASE friends WHEN 1 THEN 2 END",
        "simple_case",
        "`CASE WHEN x = ...`",
    ),
]
"""Changes that Citus rejects: tests/integration/test_citus_tasks.py runs them there."""

ACCEPTED_CHANGES = [
    "-- shard: $1\nUPDATE following_count SET follows = follows + 1,"
    " paced_until = paced_until + extract(epoch FROM now())::bigint WHERE user_id = $1::bigint",
    "-- shard: $1\nDELETE FROM following_count WHERE user_id = $1::bigint"
    " AND paced_until < extract(epoch FROM now())::bigint",
    "-- shard: $1\nUPDATE following_count SET paced_until"
    " = greatest(paced_until, extract(epoch FROM now())::bigint) WHERE user_id = $1::bigint",
    "-- shard: $1\nWITH clock AS MATERIALIZED (SELECT extract(epoch FROM now())::bigint AS now)"
    " UPDATE following_count SET paced_until = CASE WHEN follows > 0 THEN clock.now ELSE 0 END"
    " FROM clock WHERE user_id = $1::bigint",
    "-- shard: $1\nINSERT INTO following_count (user_id, paced_until)"
    " VALUES ($1::bigint, extract(epoch FROM clock_timestamp())::bigint)"
    " ON CONFLICT (user_id) DO UPDATE SET paced_until = excluded.paced_until",
    "-- shard: $1\nSELECT CASE friends WHEN 1 THEN now() END FROM following_count"
    " WHERE user_id = $1::bigint",
    "-- shard: local\nUPDATE account SET state = CASE state WHEN 1 THEN 0 ELSE 2 END"
    " WHERE user_id = $1::bigint",
]
"""Similar changes, which Citus runs."""


@pytest.mark.parametrize("sql", ACCEPTED_CHANGES)
def test_a_change_that_citus_runs_is_accepted(sql: str) -> None:
    assert check_query("q", sql) == []


@pytest.mark.parametrize(("sql", "rule", "advice"), [*VIOLATIONS, *REJECTED_CHANGES])
def test_a_violation_is_reported_with_a_remedy(sql: str, rule: str, advice: str) -> None:
    found = [violation for violation in check_query("q", sql) if violation.rule == rule]
    assert found, check_query("q", sql)
    assert advice in found[0].text


def test_a_statement_for_plain_postgresql_needs_a_replacement_for_citus() -> None:
    sql = "-- shard: plain\nSELECT 1 FROM following a JOIN following b USING (since)"
    replacement = "-- shard: fan-out\nSELECT 1 FROM following"
    assert not check_query("q", sql)
    assert not list(check_replacement("q", sql, {"q": sql, "q_on_citus": replacement}))
    (violation,) = check_replacement("q", sql, {"q": sql})
    assert "q_on_citus" in violation.text


def test_a_statement_for_plain_postgresql_may_name_its_replacement() -> None:
    sql = "-- shard: plain (file.other)\nSELECT waits FROM read_ends($1, $2)"
    replacement = "-- shard: $1\nSELECT 1 FROM outbox WHERE from_user_id = $1"
    assert not check_query("q", sql)
    assert not list(check_replacement("q", sql, {"q": sql, "file.other": replacement}))
    (violation,) = check_replacement("q", sql, {"q": sql})
    assert "file.other" in violation.text
    (violation,) = check_replacement("q", sql, {"q": sql, "file.other": "-- shard: plain"})
    assert "which Citus runs" in violation.text


FUNCTION = """
CREATE FUNCTION f(a bigint, b bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM following_count WHERE user_id = a FOR UPDATE;
    {statement}
END $$;
"""


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("PERFORM 1 FROM following_count WHERE user_id IN (a, b) FOR UPDATE;", "lock"),
        ("PERFORM 1 FROM following WHERE to_user_id = a;", "shard"),
        ("UPDATE follower_count SET friends = random() WHERE user_id = b;", "volatile"),
        ("PERFORM waits FROM read_ends(ARRAY[a], ARRAY[b]);", "plain_function"),
    ],
)
def test_a_violation_in_a_function_is_reported(statement: str, rule: str) -> None:
    assert not list(check_function("f", FUNCTION.format(statement="")))
    found = list(check_function("f", FUNCTION.format(statement=statement)))
    assert rule in {violation.rule for violation in found}


def test_a_table_without_a_placement_is_reported() -> None:
    (violation,) = check_tables("0099", "CREATE TABLE badge (user_id bigint PRIMARY KEY)")
    assert "storage/postgres/citus/placement.py" in violation.text


def test_a_unique_key_without_the_distribution_column_is_reported() -> None:
    text = "CREATE TABLE receipt (actor_id bigint, id uuid UNIQUE, PRIMARY KEY (actor_id, id))"
    (violation,) = check_tables("0099", text)
    assert "unique key of receipt (id)" in violation.text
