-- name: find_seen
-- The moments up to which the users $1 have seen their followers: a probe each.
-- shard: $1[]
SELECT user_id, followers_seen FROM following_count WHERE user_id = ANY ($1::bigint[])

-- name: mark_seen
-- Raises the moment up to which the user $1 has seen their followers to $2. Returns a row if that
-- changes it: one probe.
-- shard: $1
INSERT INTO following_count AS c (user_id, followers_seen) VALUES ($1, $2)
ON CONFLICT (user_id) DO UPDATE SET followers_seen = excluded.followers_seen
WHERE c.followers_seen < excluded.followers_seen
RETURNING user_id
