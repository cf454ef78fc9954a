-- name: hold_load
-- Takes the lock of loads of the space until the session ends. Fails if another load holds it for
-- longer than the session's `lock_timeout`.
-- shard: local
SELECT pg_advisory_lock($1, $2)

-- name: begin
-- The progress of an interrupted load of the file $1; zeros if there is none.
-- shard: local
INSERT INTO bulk_load AS b (file) VALUES ($1)
ON CONFLICT (file) DO UPDATE SET file = b.file
RETURNING lines, loaded, present, kept, bad

-- name: advance
-- Records that the file $1 is done up to line $2, and adds the numbers of edges loaded, present,
-- kept (skipped) and bad.
-- shard: local
UPDATE bulk_load
SET lines = greatest(lines, $2), loaded = loaded + $3, present = present + $4, kept = kept + $5,
    bad = bad + $6
WHERE file = $1

-- name: finish
-- Deletes the progress of the file $1, so that loading it again starts over.
-- shard: local
DELETE FROM bulk_load WHERE file = $1

-- name: is_empty
-- Whether there is no edge: a probe of each partition.
-- shard: fan-out
SELECT count(*) = 0 AS is_empty FROM (SELECT 1 FROM following LIMIT 1) AS found

-- name: analyzed
-- The approximate number of forward rows at the last ANALYZE or VACUUM: the catalog's estimates.
-- shard: local
SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint AS edges
FROM pg_class
WHERE relkind = 'r' AND (
    oid = 'following'::text::regclass
    OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'following'::text::regclass)
)

-- name: sample_less
-- A fifth of the usual sample is enough for plans that probe indexes.
-- shard: local
SET default_statistics_target = 20

-- name: analyze
-- Samples every partition: takes up to a second for a graph of any size.
-- shard: fan-out
ANALYZE following, follower, following_count, follower_count
