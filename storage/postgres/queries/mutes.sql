-- name: expired_mutes
-- At most $1 mutes whose end has passed: one range of a small index.
-- shard: fan-out
SELECT from_user_id, to_user_id FROM following
WHERE muted_until <= (extract(epoch FROM statement_timestamp()) * 1000)::bigint
ORDER BY muted_until LIMIT $1
