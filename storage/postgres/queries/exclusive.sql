-- name: try_job
-- Takes the lock $2 of the class $1 until the end of the transaction, unless another process holds
-- it. Returns whether it did.
-- shard: local
SELECT try_lock_at($2::integer, $1, $2) AS held
