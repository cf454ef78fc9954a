-- name: add_endpoint
-- Adds an endpoint. Returns no row, and adds none, if there are $6 or more, or one of this name.
-- shard: local
INSERT INTO webhook_endpoint (name, url, types, changes, secret)
SELECT $1, $2, $3::text[], $4::bigint, $5 WHERE (SELECT count(*) FROM webhook_endpoint) < $6::integer
ON CONFLICT (name) DO NOTHING RETURNING name

-- name: endpoints
-- All endpoints: a small table.
-- shard: local
SELECT name, url, types, state, reason, secret,
       CASE WHEN previous_until > now() THEN previous_secret END AS previous_secret,
       created_at, failing_since, last_error,
       coalesce(extract(epoch FROM now() - failing_since), 0)::float8 AS failing_s
FROM webhook_endpoint ORDER BY name

-- name: backlogs
-- For each endpoint: the number of waiting and of parked deliveries, each counted up to $1, and the
-- age of the oldest waiting one in seconds: two index ranges and a probe for each endpoint.
-- shard: local
SELECT e.name, e.state,
       (SELECT count(*) FROM (
            SELECT 1 FROM webhook_delivery d WHERE d.endpoint = e.name AND d.state = 0 LIMIT $1
        ) counted) AS waiting,
       (SELECT count(*) FROM (
            SELECT 1 FROM webhook_delivery d WHERE d.endpoint = e.name AND d.state = 2 LIMIT $1
        ) counted) AS parked,
       coalesce((
            SELECT extract(epoch FROM now() - d.queued_at) FROM webhook_delivery d
            WHERE d.endpoint = e.name AND d.state = 0 ORDER BY d.queued_at LIMIT 1
        ), 0)::float8 AS oldest_s
FROM webhook_endpoint e ORDER BY e.name

-- name: rotate
-- Gives the endpoint $1 the secret $2. The previous secret signs as well for $3 seconds.
-- shard: local
UPDATE webhook_endpoint
SET previous_secret = secret, previous_until = now() + make_interval(secs => $3), secret = $2
WHERE name = $1 RETURNING name

-- name: set_state
-- Sets the state of the endpoint $1 to $2, and forgets its failures.
-- shard: local
UPDATE webhook_endpoint SET state = $2, reason = NULL, failing_since = NULL, last_error = NULL
WHERE name = $1 RETURNING name

-- name: remove_endpoint
-- shard: local
DELETE FROM webhook_endpoint WHERE name = $1 RETURNING name

-- name: claim
-- Gives the process $1 the active endpoints that no other one holds, for $2 seconds. Returns their
-- names.
-- shard: local
UPDATE webhook_endpoint SET holder = $1, held_until = now() + make_interval(secs => $2)
WHERE state = 0 AND (holder IS NULL OR holder = $1 OR held_until < now())
RETURNING name

-- name: release
-- Lets other processes claim the endpoints that the process $1 holds.
-- shard: local
UPDATE webhook_endpoint SET holder = NULL, held_until = NULL WHERE holder = $1

-- name: record_success
-- Forgets the failures of the endpoint $1.
-- shard: local
UPDATE webhook_endpoint SET failing_since = NULL, last_error = NULL
WHERE name = $1 AND failing_since IS NOT NULL

-- name: record_failure
-- Records the error $2 of the endpoint $1 if it is active, and disables it for the reason $4 if it
-- has been failing for $3 seconds. Returns its state; no row if it was not active.
-- shard: local
WITH moment AS MATERIALIZED ( -- see `record` in webhook_deliveries.sql
    SELECT now() AS at, now() - make_interval(secs => $3) AS disabled_if_failing_since
)
UPDATE webhook_endpoint e
SET failing_since = coalesce(e.failing_since, m.at), last_error = $2,
    state = CASE WHEN e.failing_since <= m.disabled_if_failing_since THEN 2 ELSE e.state END,
    reason = CASE WHEN e.failing_since <= m.disabled_if_failing_since THEN $4 ELSE e.reason END
FROM moment m
WHERE e.name = $1 AND e.state = 0 RETURNING e.state
