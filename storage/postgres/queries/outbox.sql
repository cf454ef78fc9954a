-- name: lock_lane
-- Locks a lane. A separate statement, so that the next one's snapshot is newer than the last drain.
-- shard: local
SELECT lock_at($2::integer, $1, $2)

-- name: try_lane
-- Locks a lane unless another process holds it. Returns whether it did.
-- shard: local
SELECT try_lock_at($2::integer, $1, $2) AS held

-- name: oldest
-- The ids of the oldest $2 changes of the lane $1 after the id $3: one index range.
-- shard: fan-out
SELECT id FROM outbox WHERE lane = $1 AND id > $3 ORDER BY id LIMIT $2

-- name: shares
-- The ids of up to half of $2 changes of the lane $1, the oldest $3 of each target after the user $4,
-- by target: two probes for each target, however many changes wait for one of them. Then, without a
-- target, those of the oldest $2 changes.
-- shard: plain
WITH RECURSIVE target (user_id) AS (
    (SELECT to_user_id FROM outbox WHERE lane = $1 AND to_user_id > $4 ORDER BY to_user_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT o.to_user_id FROM outbox o
        WHERE o.lane = $1 AND o.to_user_id > t.user_id ORDER BY o.to_user_id LIMIT 1
    )
    FROM target t WHERE t.user_id IS NOT NULL
), share AS ( -- the limit ends the recursion
    SELECT o.id, t.user_id AS target
    FROM target t
    CROSS JOIN LATERAL (
        SELECT o.id FROM outbox o
        WHERE o.lane = $1 AND o.to_user_id = t.user_id ORDER BY o.id LIMIT $3
    ) o
    LIMIT ($2 + 1) / 2
)
SELECT id, target FROM share
UNION ALL
(SELECT id, NULL FROM outbox WHERE lane = $1 ORDER BY id LIMIT $2)

-- name: shares_on_citus
-- The same, in one scan of the lane on each machine. Targets that have more than $3 of the oldest $2
-- changes get no share: they have the others.
-- shard: fan-out
WITH oldest AS MATERIALIZED (
    SELECT id, to_user_id FROM outbox WHERE lane = $1 ORDER BY id LIMIT $2
), crowded AS MATERIALIZED (
    SELECT to_user_id FROM oldest GROUP BY to_user_id HAVING count(*) > $3
), share AS MATERIALIZED (
    SELECT id, to_user_id FROM outbox
    WHERE lane = $1 AND to_user_id > $4
      AND to_user_id <> ALL (ARRAY(SELECT to_user_id FROM crowded))
    ORDER BY to_user_id, id LIMIT ($2::integer + 1) / 2
)
SELECT id, to_user_id AS target FROM share
UNION ALL
SELECT id, NULL FROM oldest

-- name: hold_targets_on_citus
-- Locks the counts of the targets of the oldest $2 changes of the lane $1 after the id $3, or of the
-- changes $4 if they are given. The lock of the lane is released before every machine has committed
-- the previous drain: these rows are locked until theirs has, and the next statement then sees it.
-- shard: fan-out
WITH target AS MATERIALIZED (
    (SELECT to_user_id FROM outbox
     WHERE $4::bigint[] IS NULL AND lane = $1 AND id > $3 ORDER BY id LIMIT $2)
    UNION
    SELECT to_user_id FROM outbox WHERE lane = $1 AND id = ANY ($4)
)
INSERT INTO follower_count AS c (user_id)
SELECT to_user_id FROM target WHERE to_user_id > 0 ORDER BY to_user_id
ON CONFLICT (user_id) DO UPDATE SET follows = c.follows

-- name: apply_lane
-- Applies the oldest $2 changes of the lane $1 after the id $3, or the changes $4 if they are given,
-- to the reverse rows and their counts, except those that were applied by a drain that died. Only
-- the newest change of a pair counts, and only if it is newer than the row. So the counts change by
-- the actual difference, in whatever order changes arrive.
-- shard: fan-out
WITH batch AS MATERIALIZED (
    (SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target, applied
     FROM outbox WHERE $4::bigint[] IS NULL AND lane = $1 AND id > $3 ORDER BY id LIMIT $2)
    UNION ALL
    SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target, applied
    FROM outbox WHERE lane = $1 AND id = ANY ($4)
), taken AS ( -- no join: estimated as a tenth of the lane, it would read the table
    UPDATE outbox SET applied = true
    WHERE lane = $1 AND id = ANY (ARRAY(SELECT id FROM batch WHERE NOT applied)) AND NOT applied
    RETURNING to_user_id, from_user_id, kind, flags, since, version, friends
), newest AS MATERIALIZED (
    SELECT DISTINCT ON (to_user_id, from_user_id)
           to_user_id, from_user_id, kind, flags, since, version
    FROM taken WHERE to_user_id > 0 -- the others are canaries
    ORDER BY to_user_id, from_user_id, version DESC
), previous AS MATERIALIZED ( -- the lane's lock keeps these rows unchanged
    SELECT r.to_user_id, r.from_user_id, r.kind, r.version
    FROM newest n
    JOIN follower r ON r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
), newer AS MATERIALIZED (
    SELECT n.*, r.kind AS previous_kind, coalesce(a.is_counted, false) AS is_absent
    FROM newest n
    LEFT JOIN previous r ON r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    LEFT JOIN LATERAL (
        SELECT a.is_counted FROM account a WHERE a.user_id = n.from_user_id AND a.is_counted LIMIT 1
    ) a ON true
    WHERE coalesce(r.version < n.version, true)
), applied AS (
    INSERT INTO follower (to_user_id, from_user_id, kind, flags, since, version)
    SELECT to_user_id, from_user_id, kind, flags, since, version FROM newer
    ON CONFLICT (to_user_id, from_user_id) DO UPDATE
    SET kind = excluded.kind, flags = excluded.flags,
        since = excluded.since, version = excluded.version
), step AS (
    SELECT to_user_id, kind, 1 AS way, 0 AS friends, is_absent FROM newer
    UNION ALL
    SELECT to_user_id, previous_kind, -1, 0, is_absent FROM newer
    UNION ALL
    SELECT to_user_id, 0, 0, friends, false FROM taken WHERE to_user_id > 0
), counted AS (
    INSERT INTO follower_count AS c (user_id, follows, whispers, requests, blocks, friends,
                                     absent_follows, absent_whispers, absent_requests)
    SELECT to_user_id,
           coalesce(sum(way) FILTER (WHERE kind = 1), 0), coalesce(sum(way) FILTER (WHERE kind = 2), 0),
           coalesce(sum(way) FILTER (WHERE kind = 3), 0), coalesce(sum(way) FILTER (WHERE kind = 4), 0),
           sum(friends),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 1), 0),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 2), 0),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 3), 0)
    FROM step GROUP BY to_user_id ORDER BY to_user_id
    ON CONFLICT (user_id) DO UPDATE
    SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
        requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
        friends = c.friends + excluded.friends,
        absent_follows = c.absent_follows + excluded.absent_follows,
        absent_whispers = c.absent_whispers + excluded.absent_whispers,
        absent_requests = c.absent_requests + excluded.absent_requests
)
SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target
FROM batch ORDER BY id

-- name: traces
-- The traces of the requests that made the changes $2 of the lane $1, up to $3: a probe per row.
-- shard: fan-out
SELECT DISTINCT trace FROM outbox WHERE lane = $1 AND id = ANY ($2::bigint[]) AND trace IS NOT NULL
LIMIT $3

-- name: {acknowledge,park}
-- {Deletes,Parks in the lane $3} the changes $2 of the lane $1, after they were {published,applied}: a
-- probe per row. Inserts a delivery for each endpoint of a webhook that receives them; changes that
-- were parked have theirs.
-- shard: fan-out
WITH published AS (
    {DELETE FROM outbox,UPDATE outbox SET lane = $3}
    WHERE lane = $1 AND id = ANY ($2::bigint[]) AND applied
    RETURNING id, from_user_id, to_user_id, kind, flags, since, version, former, by_target
)
INSERT INTO webhook_delivery (endpoint, change_id, target_id, source_id, since, version, kind, flags,
                              former, by_target)
SELECT e.name, p.id, p.to_user_id, p.from_user_id, p.since, p.version, p.kind, p.flags, p.former,
       p.by_target
FROM published p
JOIN webhook_endpoint e
    ON (e.changes >> (25 * p.by_target::integer + 5 * (p.former & 15) + p.kind)) & 1 = 1
WHERE e.state <> 2 AND p.to_user_id > 0
ON CONFLICT DO NOTHING -- the key has another column on Citus: see distribution.py

-- name: acknowledge_parked
-- Deletes the changes $2 of the lane $1, which were parked, after they were published.
-- shard: fan-out
DELETE FROM outbox WHERE lane = $1 AND id = ANY ($2::bigint[]) AND applied

-- name: fail
-- Moves the change $2, which could not be applied $4 times, from the lane $1 to the lane $3, with
-- the error's text $5: a probe.
-- shard: fan-out
UPDATE outbox SET lane = $3, tries = least(tries + $4::integer, 32767), error = $5
WHERE lane = $1 AND id = $2 AND NOT applied

-- name: parked
-- The oldest $2 changes of the lane $1, all applied, after the id $3: one index range.
-- shard: fan-out
SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target
FROM outbox WHERE lane = $1 AND id > $3 ORDER BY id LIMIT $2
