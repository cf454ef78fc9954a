"""Every table and column is in the account export, or the code says why it is not."""

from storage.postgres.account_exports import EXPORTED, NOT_EXPORTED
from storage.postgres.connection.pool import Postgres

COLUMNS = """
SELECT c.table_name, c.column_name
FROM information_schema.columns c
JOIN pg_class t ON t.relname = c.table_name AND t.relnamespace = current_schema()::regnamespace
WHERE c.table_schema = current_schema() AND t.relkind IN ('r', 'p') AND NOT t.relispartition
"""


async def columns_of(postgres: Postgres) -> dict[str, set[str]]:
    """The columns of each table."""
    found: dict[str, set[str]] = {}
    for table, column in await postgres.fetch(COLUMNS):
        found.setdefault(table, set()).add(column)
    return found


async def test_every_table_is_in_the_account_export_or_has_a_reason(postgres: Postgres) -> None:
    tables = (await columns_of(postgres)).keys()
    assert not EXPORTED.keys() & NOT_EXPORTED.keys()
    undecided = tables - EXPORTED.keys() - NOT_EXPORTED.keys()
    assert not undecided, "decide in storage/postgres/account_exports.py"
    assert not (EXPORTED.keys() | NOT_EXPORTED.keys()) - tables
    assert all(NOT_EXPORTED.values())


READ = {
    "account": {
        *("user_id", "protected", "following_audience", "followers_audience", "following_limit"),
        *("state", "changed_at", "deleted_at", "erased_at"),
    },
    "following": {
        *("from_user_id", "to_user_id", "kind", "flags", "since", "version", "message"),
        "muted_until",
    },
    "follower": {"to_user_id", "from_user_id", "kind", "since"},
    "following_count": {"user_id", "paced_until", "followers_seen"},
    "private_note": {"author_id", "other_id", "note"},
    "pinned_following": {"user_id", "other_id", "since"},
    "follow_group": {"user_id", "group_id", "name"},
    "follow_group_member": {"user_id", "target_id", "group_id", "since"},
    "affinity": {"user_id", "other_id", "rank"},
    "receipt": {
        *("actor_id", "id", "other_id", "made_at", "outcome", "taken", "messages", "recorded"),
    },
}
"""The columns that the statements of the export read."""


async def test_every_column_of_an_exported_table_is_read_or_has_a_reason(
    postgres: Postgres,
) -> None:
    columns = await columns_of(postgres)
    assert READ.keys() == EXPORTED.keys()
    for table, left_out in EXPORTED.items():
        assert not READ[table] & left_out.keys(), table
        assert READ[table] | left_out.keys() == columns[table], table
        assert all(left_out.values())
