-- name: orphans
-- At most $1 deliveries of endpoints that were removed: one probe for each endpoint that has
-- deliveries, and one index range for each that was removed.
-- shard: local
WITH RECURSIVE present (name) AS (
    (SELECT endpoint FROM webhook_delivery ORDER BY endpoint LIMIT 1)
    UNION ALL
    SELECT (
        SELECT d.endpoint FROM webhook_delivery d
        WHERE d.endpoint > p.name ORDER BY d.endpoint LIMIT 1
    )
    FROM present p WHERE p.name IS NOT NULL
), gone AS MATERIALIZED (
    SELECT p.name FROM present p
    WHERE p.name IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.name = p.name)
)
SELECT d.endpoint, d.change_id, d.source_id FROM gone g
CROSS JOIN LATERAL (
    SELECT w.endpoint, w.change_id, w.source_id FROM webhook_delivery w
    WHERE w.endpoint = g.name ORDER BY w.change_id LIMIT $1
) d
LIMIT $1

-- name: heads
-- The waiting deliveries of the endpoint $1 to attempt next: the oldest $4 of each of the next $3
-- targets after the user $2, in the order of ids, and whether the next attempt is due: two probes
-- for each target.
-- shard: local
WITH RECURSIVE target (user_id, place) AS (
    (SELECT target_id, 1 FROM webhook_delivery
     WHERE endpoint = $1 AND state = 0 AND target_id > $2 ORDER BY target_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT d.target_id FROM webhook_delivery d
        WHERE d.endpoint = $1 AND d.state = 0 AND d.target_id > t.user_id
        ORDER BY d.target_id LIMIT 1
    ), t.place + 1
    FROM target t WHERE t.user_id IS NOT NULL AND t.place < $3
)
SELECT d.change_id, d.target_id, d.source_id, d.since, d.version, d.kind, d.flags, d.former,
       d.by_target, d.operation, d.attempts, d.is_due
FROM target t
CROSS JOIN LATERAL (
    SELECT d.*, d.retry_at <= now() AS is_due FROM webhook_delivery d
    WHERE d.endpoint = $1 AND d.state = 0 AND d.target_id = t.user_id
    ORDER BY d.change_id LIMIT $4
) d
ORDER BY d.target_id, d.change_id

-- name: record
-- Records attempts of deliveries ($2, $3) to the endpoint $1: whether they succeeded, the status,
-- the error, how long they took, and after how many seconds to try again. A failed delivery that
-- has waited for $9 seconds is parked; one that succeeded is delivered, also if it was parked
-- meanwhile. Returns the new states.
-- shard: local
WITH attempt AS MATERIALIZED ( -- Citus rejects functions of the time with columns in an UPDATE
    SELECT a.change_id, a.source_id, a.succeeded, a.status, a.error, a.took_ms, now() AS ended_at,
           now() + make_interval(secs => a.wait_s) AS retry_at,
           now() - make_interval(secs => $9) AS parked_until
    FROM unnest($2::bigint[], $3::bigint[], $4::boolean[], $5::smallint[], $6::text[], $7::integer[],
                $8::float8[])
        AS a (change_id, source_id, succeeded, status, error, took_ms, wait_s)
)
UPDATE webhook_delivery d
SET state = CASE
        WHEN r.succeeded THEN 1
        WHEN d.queued_at <= r.parked_until THEN 2
        ELSE 0 END,
    attempts = d.attempts + 1, status = r.status, error = r.error, took_ms = r.took_ms,
    retry_at = r.retry_at,
    finished_at = CASE WHEN r.succeeded OR d.queued_at <= r.parked_until THEN r.ended_at END
FROM attempt r
WHERE d.endpoint = $1 AND d.change_id = r.change_id AND d.source_id = r.source_id
  AND (d.state = 0 OR d.state = 2 AND r.succeeded)
RETURNING d.change_id, d.source_id, d.state

-- name: delete
-- Deletes deliveries ($2, $3) of the endpoint $1: a probe each.
-- shard: local
DELETE FROM webhook_delivery d
USING unnest($2::bigint[], $3::bigint[]) AS gone (change_id, source_id)
WHERE d.endpoint = $1 AND d.change_id = gone.change_id AND d.source_id = gone.source_id

-- name: overdue
-- At most $3 deliveries of the endpoint $1 that have waited for $2 seconds, the oldest first.
-- shard: local
SELECT change_id, source_id FROM webhook_delivery
WHERE endpoint = $1 AND state = 0 AND queued_at <= now() - make_interval(secs => $2)
ORDER BY queued_at LIMIT $3

-- name: park
-- Parks deliveries ($2, $3) of the endpoint $1 for the reason $4: a probe each.
-- shard: local
UPDATE webhook_delivery d SET state = 2, finished_at = now(), error = coalesce(d.error, $4)
FROM unnest($2::bigint[], $3::bigint[]) AS late (change_id, source_id)
WHERE d.endpoint = $1 AND d.change_id = late.change_id AND d.source_id = late.source_id
  AND d.state = 0

-- name: finished
-- At most $3 deliveries of the endpoint $1 in the state $4 that ended more than $2 seconds ago.
-- shard: local
SELECT change_id, source_id FROM webhook_delivery
WHERE endpoint = $1 AND state = $4 AND state <> 0
  AND finished_at <= now() - make_interval(secs => $2)
ORDER BY finished_at LIMIT $3

-- name: log
-- The newest $2 deliveries of the endpoint $1: one index range.
-- shard: local
SELECT change_id, target_id, source_id, since, version, kind, flags, former, by_target, operation,
       state, attempts, queued_at, retry_at, finished_at, status, error, took_ms
FROM webhook_delivery WHERE endpoint = $1 ORDER BY change_id DESC LIMIT $2

-- name: log_waiting
-- The newest $2 waiting deliveries of the endpoint $1: one index range.
-- shard: local
SELECT change_id, target_id, source_id, since, version, kind, flags, former, by_target, operation,
       state, attempts, queued_at, retry_at, finished_at, status, error, took_ms
FROM webhook_delivery WHERE endpoint = $1 AND state = 0 ORDER BY queued_at DESC LIMIT $2

-- name: log_ended
-- The $2 deliveries of the endpoint $1 that entered the state $3 last: one index range. The state
-- is not that of waiting deliveries.
-- shard: local
SELECT change_id, target_id, source_id, since, version, kind, flags, former, by_target, operation,
       state, attempts, queued_at, retry_at, finished_at, status, error, took_ms
FROM webhook_delivery
WHERE endpoint = $1 AND state = $3 AND state <> 0 ORDER BY finished_at DESC LIMIT $2

-- name: replayable
-- At most $4 deliveries of the endpoint $1 in the state $2 that ended less than $3 seconds ago, the
-- oldest first.
-- shard: local
SELECT change_id FROM webhook_delivery
WHERE endpoint = $1 AND state = $2 AND state <> 0
  AND finished_at > now() - make_interval(secs => $3)
ORDER BY finished_at LIMIT $4

-- name: replay
-- Makes deliveries with the ids $2 of the endpoint $1 wait again, as new ones: a probe each.
-- Returns the ids found.
-- shard: local
UPDATE webhook_delivery
SET state = 0, attempts = 0, queued_at = now(), retry_at = now(), finished_at = NULL
WHERE endpoint = $1 AND change_id = ANY ($2::bigint[]) AND state <> 0
RETURNING change_id
