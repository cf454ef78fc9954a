-- name: ensure_account
-- There is a row of the user $1: what the next statement locks.
INSERT INTO account (user_id) VALUES ($1) ON CONFLICT (user_id) DO NOTHING

-- name: lock_account
-- The row of the user $1, which nobody else changes until the transaction ends, and the time now.
SELECT protected, following_audience, followers_audience, state, state = 0 AS present,
       following_limit, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM account WHERE user_id = $1 FOR UPDATE
