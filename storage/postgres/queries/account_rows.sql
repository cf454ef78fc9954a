-- name: ensure_account
-- Creates the row of the user $1 for the next statement to lock.
-- shard: local
INSERT INTO account (user_id) VALUES ($1) ON CONFLICT (user_id) DO NOTHING

-- name: lock_account
-- Locks the row of the user $1 until the transaction ends. Returns it with the clock in
-- microseconds.
-- shard: local
SELECT protected, following_audience, followers_audience, state, state = 0 AS present,
       following_limit, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM account WHERE user_id = $1 FOR UPDATE

-- name: account_state
-- The state of the account $1, and the clock in microseconds: one probe.
-- shard: local
SELECT coalesce((SELECT state FROM account WHERE user_id = $1), 0) AS state,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
