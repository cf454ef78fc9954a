-- name: try_job
-- Takes the lock $2 of the class $1 until the end of the transaction, unless another process holds
-- it. Returns whether it did.
-- shard: local
SELECT pg_try_advisory_xact_lock($1, $2) AS held
