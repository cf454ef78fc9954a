-- name: lock_lane
-- A statement of its own, so that the next has a snapshot that is newer than the last drain.
SELECT pg_advisory_xact_lock($1, $2)

-- name: apply_lane
-- The next $2 changes of the lane $1, applied to the reverse rows and their counts. Of a pair only
-- the newest change counts, and only where it is newer than the row: so the counts move by what
-- really changed, in whatever order changes arrive. Says how many changes were taken.
WITH batch AS (
    UPDATE outbox o SET applied = true
    FROM (SELECT from_user_id, id FROM outbox WHERE lane = $1 AND NOT applied ORDER BY id LIMIT $2) n
    WHERE o.from_user_id = n.from_user_id AND o.id = n.id
    RETURNING o.to_user_id, o.from_user_id, o.kind, o.flags, o.since, o.version, o.friends
), newest AS (
    SELECT DISTINCT ON (to_user_id, from_user_id)
           to_user_id, from_user_id, kind, flags, since, version
    FROM batch ORDER BY to_user_id, from_user_id, version DESC
), newer AS MATERIALIZED ( -- the lane's lock keeps what is read here as it is
    SELECT n.*, r.kind AS former
    FROM newest n
    LEFT JOIN LATERAL (
        SELECT r.kind, r.version FROM follower r
        WHERE r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
        OFFSET 0 -- keeps this a probe: PostgreSQL takes a batch for one row, or the graph for small
    ) r ON true
    WHERE coalesce(r.version < n.version, true)
), applied AS (
    INSERT INTO follower (to_user_id, from_user_id, kind, flags, since, version)
    SELECT to_user_id, from_user_id, kind, flags, since, version FROM newer
    ON CONFLICT (to_user_id, from_user_id) DO UPDATE
    SET kind = excluded.kind, flags = excluded.flags,
        since = excluded.since, version = excluded.version
), step AS (
    SELECT to_user_id, (kind = 1)::integer - coalesce((former = 1)::integer, 0) AS follows,
           0 AS friends
    FROM newer
    UNION ALL
    SELECT to_user_id, 0, friends FROM batch
), counted AS (
    INSERT INTO follower_count AS c (user_id, follows, friends)
    SELECT to_user_id, sum(follows), sum(friends) FROM step GROUP BY to_user_id ORDER BY to_user_id
    ON CONFLICT (user_id) DO UPDATE
    SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends
)
SELECT count(*) FROM batch

-- name: applied_changes
-- What the lane $1 has applied and not yet acknowledged, at most $2.
SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target
FROM outbox WHERE lane = $1 AND applied ORDER BY id LIMIT $2

-- name: acknowledge
-- The changes $2 of the lane $1 have left for the caches: the graph is done with them.
DELETE FROM outbox WHERE lane = $1 AND id = ANY ($2::bigint[]) AND applied

-- name: pending
-- Whom the users $1 have changed something towards, as far as the caches may not know it.
SELECT DISTINCT from_user_id, to_user_id FROM outbox WHERE from_user_id = ANY ($1::bigint[])

-- name: unsettled
-- Those of the users $1 who are an end of a change that waits. Reads the whole outbox.
SELECT DISTINCT end_id FROM outbox
CROSS JOIN LATERAL (VALUES (from_user_id), (to_user_id)) AS side (end_id)
WHERE end_id = ANY ($1::bigint[])

-- name: dirty_lanes
-- The lanes among $1 with anything left to do, and for how many microseconds: one probe a lane.
SELECT lane.lane, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - o.version AS waited
FROM unnest($1::smallint[]) AS lane
CROSS JOIN LATERAL (
    SELECT version FROM outbox WHERE outbox.lane = lane.lane ORDER BY id LIMIT 1
) o

-- name: outbox_state
-- How much waits (counted up to $2), and since when in microseconds: one probe each of $1 lanes.
SELECT (SELECT count(*) FROM (SELECT FROM outbox LIMIT $2) o) AS waiting,
       (SELECT min(o.version)
        FROM generate_series(0, $1::integer - 1) AS lane
        CROSS JOIN LATERAL (
            SELECT version FROM outbox WHERE outbox.lane = lane.lane ORDER BY id LIMIT 1
        ) o) AS oldest,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
