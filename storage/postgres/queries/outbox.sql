-- name: lock_lane
-- Locks a lane. A separate statement, so that the snapshot of the next statement is newer than the
-- last drain.
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
-- The ids of up to half of $2 changes of the lane $1, the oldest $3 of each target after the user
-- $4, by target: two probes for each target, however many changes wait for one of them. Then,
-- without a target, those of the oldest $2 changes.
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
-- The same, in one scan of the lane on each machine. Targets of more than $3 of the oldest $2
-- changes get no share, because they have many of the changes without one.
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

-- name: traces
-- The traces of the requests that made the changes $2 of the lane $1, up to $3: a probe per row.
-- shard: fan-out
SELECT DISTINCT trace FROM outbox WHERE lane = $1 AND id = ANY ($2::bigint[]) AND trace IS NOT NULL
LIMIT $3

-- name: {acknowledge,park,acknowledge_on_citus,park_on_citus}
-- {Deletes,Parks in the lane $3,Deletes,Parks in the lane $3} the changes $2 of the lane $1, after
-- they were {published,applied,published,applied}: a probe per row. Inserts a delivery for each
-- endpoint of a webhook that receives them; changes that were parked have their deliveries already.
{,,-- $3: the sources of the changes.,-- $4: the sources of the changes.}
-- shard: {plain,plain,$3[],$4[]}
WITH published AS (
    {DELETE FROM outbox,UPDATE outbox SET lane = $3,DELETE FROM outbox,UPDATE outbox SET lane = $3}
    WHERE lane = $1 AND id = ANY ($2::bigint[]) AND applied
      {,,AND from_user_id = ANY ($3::bigint[]),AND from_user_id = ANY ($4::bigint[])}
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
