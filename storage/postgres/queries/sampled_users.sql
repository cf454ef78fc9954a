-- name: bounds
-- The lowest and the highest id of the users who have followed somebody, and on Citus of those who were
-- followed: two ends of an index.
-- shard: fan-out
SELECT min(user_id) AS lowest, max(user_id) AS highest FROM following_count

-- name: next_user
-- The first such user from the id $1 on: a probe.
-- shard: fan-out
SELECT user_id FROM following_count WHERE user_id >= $1::bigint ORDER BY user_id LIMIT 1
