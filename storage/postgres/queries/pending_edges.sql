-- name: pending
-- The targets of the changes of the users $1 in the outbox, which the caches may lack.
-- shard: $1[]
SELECT DISTINCT from_user_id, to_user_id FROM outbox WHERE from_user_id = ANY ($1::bigint[])
