-- name: find_pinned
-- The users whom $1 has pinned and still follows by the same follow, in order: one index range of
-- at most 10 entries, and a probe for each.
-- shard: $1
SELECT p.other_id
FROM pinned_following p
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = $1 AND f.to_user_id = p.other_id AND f.since = p.since
      AND f.kind::integer IN (1, 2) AND f.version > 0
    LIMIT 1
) f
WHERE p.user_id = $1
ORDER BY p.position

-- name: lock_count
-- Locks the counts of the user $1 until the transaction ends, as their changes of edges do.
-- shard: $1
SELECT 1 FROM following_count WHERE user_id = $1 FOR UPDATE

-- name: stored_pins
-- All pins of the user $1, in order: one index range of at most 10 entries.
-- shard: $1
SELECT other_id, since FROM pinned_following WHERE user_id = $1 ORDER BY position

-- name: delete_pins
-- Deletes the pins of the user $1: one index range of at most 10 entries.
-- shard: $1
DELETE FROM pinned_following WHERE user_id = $1

-- name: write_pin
-- Writes the pin of the user $1 at the position $2: one row.
-- shard: $1
INSERT INTO pinned_following (user_id, position, other_id, since) VALUES ($1, $2, $3, $4)
