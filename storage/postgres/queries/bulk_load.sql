-- name: claim
-- One load a space at a time, for as long as the session lives.
SELECT pg_advisory_lock($1, $2)

-- name: begin
-- How far the file $1 was loaded before, if a load of it was cut off.
INSERT INTO bulk_load AS b (file) VALUES ($1)
ON CONFLICT (file) DO UPDATE SET file = b.file
RETURNING lines, loaded, present, kept, bad

-- name: advance
-- The file $1 is done up to line $2: so many more edges were loaded, present, kept from the
-- graph, and bad.
UPDATE bulk_load
SET lines = greatest(lines, $2), loaded = loaded + $3, present = present + $4, kept = kept + $5,
    bad = bad + $6
WHERE file = $1

-- name: finish
-- Loading the file $1 again would be a new load.
DELETE FROM bulk_load WHERE file = $1

-- name: analyze
-- Samples every partition: seconds, however large the graph is.
ANALYZE following, follower, following_count, follower_count
