-- Whose followers' totals do not know yet that somebody has gone, or is back.

-- name: try_turn
-- One after the other: two would only wait for each other, holding connections.
SELECT pg_try_advisory_xact_lock($1, 0) AS is_mine

-- name: lock_lanes
-- Holds off all drains, loads and repairs of the lanes below $2: what they write stays as it is.
SELECT count(pg_advisory_xact_lock($1, lane)) FROM generate_series(0, $2::integer - 1) AS lane

-- name: be_patient
-- The rest of the transaction may take longer than a request's statements.
SELECT set_config('statement_timeout', $1, true)

-- name: waiting
-- How many wait to be counted anew, up to $1: the head of a small index.
SELECT count(*) FROM (
    SELECT FROM account WHERE is_counted <> (state <> 0 AND erased_at IS NULL)
    ORDER BY changed_at, user_id LIMIT $1 -- the order of that index, or the table might be read
) a

-- name: count_anew
-- Moves the counts of all whom the first of them follow, or wait for: of up to $1 accounts, who together
-- follow $3 at most, or of one; a probe an edge. A reverse row may be there still where the forward row is
-- none any more, if that waits in the outbox. Says whose counts have moved, of those who have more
-- than $2 followers; and the number of accounts, beside nobody.
WITH first AS MATERIALIZED (
    SELECT user_id, changed_at, state <> 0 AND erased_at IS NULL AS is_absent
    FROM account WHERE is_counted <> (state <> 0 AND erased_at IS NULL)
    ORDER BY changed_at, user_id LIMIT $1
    FOR UPDATE SKIP LOCKED
), weighed AS (
    SELECT f.user_id, f.is_absent,
           row_number() OVER so_far AS place,
           sum(coalesce(n.follows + n.whispers + n.requests, 0)) OVER so_far AS edges
    FROM first f LEFT JOIN LATERAL (
        SELECT n.follows, n.whispers, n.requests FROM following_count n
        WHERE n.user_id = f.user_id OFFSET 0
    ) n ON true
    WINDOW so_far AS (ORDER BY f.changed_at, f.user_id)
), changed AS MATERIALIZED (
    SELECT user_id, is_absent FROM weighed WHERE place = 1 OR edges <= $3
), edge AS (
    SELECT c.user_id, c.is_absent, f.to_user_id
    FROM changed c
    CROSS JOIN LATERAL (
        SELECT f.to_user_id FROM following f
        WHERE f.from_user_id = c.user_id AND f.kind IN (1, 2, 3)
        OFFSET 0 -- keeps this a range: PostgreSQL takes the graph for small
    ) f
    UNION
    SELECT c.user_id, c.is_absent, o.to_user_id
    FROM changed c
    CROSS JOIN LATERAL (
        SELECT o.to_user_id FROM outbox o WHERE o.from_user_id = c.user_id
        OFFSET 0 -- a probe each: the outbox is long where a cache cannot be told
    ) o
), moved AS (
    INSERT INTO follower_count AS c (user_id, absent_follows, absent_whispers, absent_requests)
    SELECT e.to_user_id,
           coalesce(sum(CASE WHEN e.is_absent THEN 1 ELSE -1 END) FILTER (WHERE r.kind = 1), 0),
           coalesce(sum(CASE WHEN e.is_absent THEN 1 ELSE -1 END) FILTER (WHERE r.kind = 2), 0),
           coalesce(sum(CASE WHEN e.is_absent THEN 1 ELSE -1 END) FILTER (WHERE r.kind = 3), 0)
    FROM edge e
    CROSS JOIN LATERAL (
        SELECT r.kind FROM follower r
        WHERE r.to_user_id = e.to_user_id AND r.from_user_id = e.user_id AND r.kind IN (1, 2, 3)
          AND r.version > 0 -- keeps the probe of a star off the list's index (see relations.sql)
        OFFSET 0
    ) r
    GROUP BY e.to_user_id ORDER BY e.to_user_id
    ON CONFLICT (user_id) DO UPDATE
    SET absent_follows = c.absent_follows + excluded.absent_follows,
        absent_whispers = c.absent_whispers + excluded.absent_whispers,
        absent_requests = c.absent_requests + excluded.absent_requests
    RETURNING user_id, follows + whispers + requests AS followers
), counted AS (
    UPDATE account SET is_counted = NOT is_counted -- not a join: a limit is taken for a tenth of all
    WHERE user_id = ANY (ARRAY(SELECT user_id FROM changed))
)
SELECT 0 AS user_id, count(*) AS accounts FROM changed
UNION ALL
SELECT user_id, 0 FROM moved WHERE followers > $2
