-- name: unacknowledged
-- Those of the users $1 who are the source or target of a change in the outbox. Reads the whole
-- outbox.
-- shard: fan-out
SELECT DISTINCT end_id FROM outbox
CROSS JOIN LATERAL (VALUES (from_user_id), (to_user_id)) AS side (end_id)
WHERE end_id = ANY ($1::bigint[])

-- name: dirty_lanes
-- Those of the lanes $1 that have changes, and the oldest one's age in microseconds: one probe per
-- lane.
-- shard: plain
SELECT lane.lane, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - o.version AS waited
FROM unnest($1::smallint[]) AS lane
CROSS JOIN LATERAL (
    SELECT version FROM outbox WHERE outbox.lane = lane.lane ORDER BY id LIMIT 1
) o

-- name: dirty_lanes_on_citus
-- The same: one scan of the outbox on each machine.
-- shard: fan-out
WITH head AS MATERIALIZED (
    SELECT lane, min(version) AS version FROM outbox WHERE lane = ANY ($1::smallint[]) GROUP BY lane
)
SELECT lane, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - version AS waited FROM head

-- name: watermarks
-- The lowest version among the oldest $2 changes in each of the lanes $1, and the clock before the
-- read, in microseconds. Ids are assigned in the order of insertion, and a version is never later
-- than its insertion, so no change below that version is waiting. More than one change is read in
-- case the clock was set back. `oldest` also covers the lanes $3, which hold the parked changes of
-- the lanes at the same positions. `failed` has the versions of the newest $2 changes in the lanes
-- $4, which hold the failed ones. Lanes that the space does not have are left out; without any
-- other, the row has no lane.
-- shard: plain
SELECT lane.lane, least(o.version, a.version) AS oldest, o.version AS oldest_unparked,
       f.versions AS failed, total.lanes, (extract(epoch FROM now()) * 1000000)::bigint AS now
FROM count_lanes() AS total (lanes)
LEFT JOIN unnest($1::smallint[], $3::smallint[], $4::smallint[]) AS lane (lane, parked, failed)
    ON lane.lane < total.lanes
CROSS JOIN LATERAL (
    SELECT min(version) AS version
    FROM (SELECT version FROM outbox WHERE outbox.lane = lane.lane ORDER BY id LIMIT $2) head
) o
CROSS JOIN LATERAL (
    SELECT min(version) AS version
    FROM (SELECT version FROM outbox WHERE outbox.lane = lane.parked ORDER BY id LIMIT $2) head
) a
CROSS JOIN LATERAL (
    SELECT array_agg(version) AS versions
    FROM (SELECT version FROM outbox WHERE outbox.lane = lane.failed ORDER BY id DESC LIMIT $2) tail
) f

-- name: watermarks_on_citus
-- The same for the lanes $1, with their parked changes in the lanes $2, and without the failed
-- ones: one scan of the outbox on each machine.
-- shard: fan-out
WITH head AS MATERIALIZED (
    SELECT lane, min(version) AS version
    FROM outbox WHERE lane = ANY ($1::smallint[] || $2::smallint[]) GROUP BY lane
)
SELECT lane.lane, least(o.version, a.version) AS oldest, o.version AS oldest_unparked,
       NULL::bigint[] AS failed, total.lanes, (extract(epoch FROM now()) * 1000000)::bigint AS now
FROM (SELECT coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) AS lanes) AS total
LEFT JOIN unnest($1::smallint[], $2::smallint[]) AS lane (lane, parked) ON lane.lane < total.lanes
LEFT JOIN head o ON o.lane = lane.lane
LEFT JOIN head a ON a.lane = lane.parked

-- name: failed_on_citus
-- The versions of the newest $2 changes in the lane $1, which holds the failed ones of another
-- lane.
-- shard: fan-out
SELECT version FROM outbox WHERE lane = $1 ORDER BY id DESC LIMIT $2

-- name: unapplied
-- The first id and the lowest version of the oldest $2 changes that the reverse rows of the lane $1
-- lack. It reads past changes that are applied and not published, which are many only while caches
-- are unavailable.
-- shard: fan-out
SELECT min(id) AS id, min(version) AS version
FROM (
    SELECT id, version FROM outbox WHERE lane = $1 AND NOT applied ORDER BY id LIMIT $2
) head

-- name: outbox_state
-- For each of the lanes $1 that the space has: the number of changes (counted up to $2) and the age
-- of the oldest one in microseconds: one index range per lane.
-- shard: plain
SELECT lane.lane,
       (SELECT count(*) FROM (
            SELECT 1 FROM outbox WHERE outbox.lane = lane.lane LIMIT $2
        ) counted) AS changes,
       (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - version
        FROM outbox WHERE outbox.lane = lane.lane ORDER BY id LIMIT 1) AS age
FROM unnest($1::smallint[]) AS lane
WHERE lane.lane & 255 < count_lanes()

-- name: outbox_state_on_citus
-- The same: one scan of the outbox on each machine.
-- shard: fan-out
WITH waiting AS MATERIALIZED (
    SELECT lane, count(*) AS changes, min(version) AS version FROM outbox GROUP BY lane
)
SELECT lane.lane, least(coalesce(w.changes, 0), $2) AS changes,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - w.version AS age
FROM unnest($1::smallint[]) AS lane LEFT JOIN waiting w ON w.lane = lane.lane
WHERE lane.lane & 255 < coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint)
