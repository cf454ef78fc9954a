-- name: write_canaries
-- Writes a canary into each lane whose last canary has been acknowledged: a probe for each lane.
-- Returns these lanes.
-- shard: fan-out
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
), free AS MATERIALIZED (
    SELECT lane FROM generate_series(0, coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) - 1) AS lane
    WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.from_user_id = -1 - lane)
), noted AS (
    INSERT INTO canary (lane, written_at) SELECT lane, now FROM free, clock
    ON CONFLICT (lane) DO UPDATE SET written_at = excluded.written_at
)
INSERT INTO outbox (lane, from_user_id, to_user_id, since, version, kind, flags, friends)
SELECT lane, -1 - lane, -1001 - lane, 0, now, 0, 0, 0 FROM free, clock
RETURNING lane

-- name: answer_canaries
-- Records that the canaries of the lanes $1, written at $2, have reached the caches: a probe each.
-- shard: local
UPDATE canary c
SET answered_at = a.written_at, took = greatest(0, clock.now - a.written_at)
FROM unnest($1::smallint[], $2::bigint[]) AS a (lane, written_at),
    (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) AS clock
WHERE c.lane = a.lane AND coalesce(c.answered_at < a.written_at, true)

-- name: lags
-- How long the last canary of each lane took, in microseconds, or how long it has been waiting, if
-- that is longer: a small table.
-- shard: local
SELECT lane, greatest(
    took,
    CASE WHEN answered_at IS DISTINCT FROM written_at
         THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - written_at END
) AS lag
FROM canary ORDER BY lane
