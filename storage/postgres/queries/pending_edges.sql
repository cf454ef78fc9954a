-- name: pending
-- The targets of the users' ($1) changes that the caches may lack.
-- shard: $1[]
SELECT DISTINCT from_user_id, to_user_id FROM outbox WHERE from_user_id = ANY ($1::bigint[])
