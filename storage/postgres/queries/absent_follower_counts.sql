-- Maintains the absent follower counts after changes of account states.

-- name: try_lock
-- Takes the lock of the job that counts, unless another process holds it: a second job would only
-- wait and hold a connection. Returns whether the lock was taken.
-- shard: local
SELECT try_lock_at(0, $1, 0) AS is_mine

-- name: lock_lanes
-- Blocks all drains, loads and repairs.
-- shard: local
SELECT count(lock_at(lane, $1, lane)) FROM generate_series(0, count_lanes() - 1) AS lane

-- name: raise_timeout
-- Raises the statement timeout for the rest of the transaction.
-- shard: local
SELECT set_config('statement_timeout', $1, true)

-- name: waiting
-- The number of accounts to count, up to $1: the head of a small index.
-- shard: local
SELECT count(*) FROM (
    SELECT 1 FROM account WHERE is_counted <> (state <> 0 AND erased_at IS NULL)
    ORDER BY changed_at, user_id LIMIT $1 -- the index's order, or the planner might read the table
) a

-- name: update_counts
-- Adjusts the counts of all users whom the accounts to count first follow or have requested to
-- follow: up to $1 accounts, which together follow at most $3 users, or one account. A probe per
-- edge. An edge whose forward row has ended may still have a reverse row while the change is in the
-- outbox, so the outbox is read too. Returns the users whose counts have changed and who have more
-- than $2 followers; the row of user 0 has the number of accounts.
-- shard: plain
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
        OFFSET 0 -- keeps this a range: PostgreSQL underestimates the graph
    ) f
    UNION
    SELECT c.user_id, c.is_absent, o.to_user_id
    FROM changed c
    CROSS JOIN LATERAL (
        SELECT o.to_user_id FROM outbox o WHERE o.from_user_id = c.user_id
        OFFSET 0 -- keeps this a probe: the outbox is long while a cache is unavailable
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
    UPDATE account SET is_counted = NOT is_counted -- not a join, estimated as a tenth of all rows
    WHERE user_id = ANY (ARRAY(SELECT user_id FROM changed))
)
SELECT 0 AS user_id, count(*) AS accounts FROM changed
UNION ALL
SELECT user_id, 0 FROM moved WHERE followers > $2

-- name: first_on_citus
-- Locks the first $1 accounts to count: one range of a small index. `step` is what each account
-- adds to the counts of the users whom it follows. Waits for concurrent changes of these accounts,
-- which are short.
-- shard: local
SELECT user_id, CASE WHEN state <> 0 AND erased_at IS NULL THEN 1 ELSE -1 END AS step
FROM account WHERE is_counted <> (state <> 0 AND erased_at IS NULL)
ORDER BY changed_at, user_id LIMIT $1
FOR UPDATE

-- name: edges_on_citus
-- The number of edges of each of the users $1 that has any: a probe each.
-- shard: $1[]
SELECT user_id, follows + whispers + requests AS edges
FROM following_count WHERE user_id = ANY ($1::bigint[])

-- name: hold_followed_on_citus
-- Locks the counts of all users whom the users $1 follow, as a drain does: the lock of a lane is
-- released before every machine has committed the drain that held it, and the next statement must
-- see the rows of that drain.
-- shard: fan-out
WITH target AS MATERIALIZED (
    SELECT to_user_id FROM following
    WHERE from_user_id = ANY ($1::bigint[]) AND kind IN (1, 2, 3)
    UNION
    SELECT to_user_id FROM outbox WHERE from_user_id = ANY ($1)
)
INSERT INTO follower_count AS c (user_id)
SELECT to_user_id FROM target ORDER BY to_user_id
ON CONFLICT (user_id) DO UPDATE SET follows = c.follows

-- name: update_counts_on_citus
-- Adds the step $2[i] to the counts of all users whom the user $1[i] follows or has requested to
-- follow. Returns the users whose counts have changed and who have more than $3 followers.
-- shard: fan-out
WITH edge AS MATERIALIZED (
    SELECT from_user_id, to_user_id FROM following
    WHERE from_user_id = ANY ($1::bigint[]) AND kind IN (1, 2, 3)
    UNION
    SELECT from_user_id, to_user_id FROM outbox WHERE from_user_id = ANY ($1)
), reverse AS MATERIALIZED (
    SELECT r.to_user_id, r.from_user_id, r.kind
    FROM edge e
    JOIN follower r ON r.to_user_id = e.to_user_id AND r.from_user_id = e.from_user_id
    WHERE r.kind IN (1, 2, 3)
), moved AS (
    INSERT INTO follower_count AS c (user_id, absent_follows, absent_whispers, absent_requests)
    SELECT r.to_user_id,
           coalesce(sum(a.step) FILTER (WHERE r.kind = 1), 0),
           coalesce(sum(a.step) FILTER (WHERE r.kind = 2), 0),
           coalesce(sum(a.step) FILTER (WHERE r.kind = 3), 0)
    FROM reverse r
    JOIN unnest($1::bigint[], $2::integer[]) AS a (user_id, step) ON a.user_id = r.from_user_id
    GROUP BY r.to_user_id ORDER BY r.to_user_id
    ON CONFLICT (user_id) DO UPDATE
    SET absent_follows = c.absent_follows + excluded.absent_follows,
        absent_whispers = c.absent_whispers + excluded.absent_whispers,
        absent_requests = c.absent_requests + excluded.absent_requests
    RETURNING user_id, follows + whispers + requests AS followers
)
SELECT user_id FROM moved WHERE followers > $3

-- name: mark_counted_on_citus
-- Marks the accounts $1, whose counts were updated: a probe each.
-- shard: local
UPDATE account SET is_counted = NOT is_counted WHERE user_id = ANY ($1::bigint[])
