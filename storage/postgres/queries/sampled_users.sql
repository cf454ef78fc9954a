-- name: bounds
-- The lowest and the highest id of the users with a count row: those who have followed somebody,
-- and on Citus those who were followed too. Two ends of an index.
-- shard: fan-out
SELECT min(user_id) AS lowest, max(user_id) AS highest FROM following_count

-- name: next_user
-- The first user with a count row whose id is $1 or higher: a probe.
-- shard: fan-out
SELECT user_id FROM following_count WHERE user_id >= $1::bigint ORDER BY user_id LIMIT 1
