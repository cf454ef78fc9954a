-- name: accounts
-- The account settings of the users $1: a probe per user, in a table with few rows.
-- shard: local
SELECT user_id, protected, following_audience, followers_audience, state = 0 AS present,
       following_limit
FROM account WHERE user_id = ANY ($1::bigint[])

-- name: write_account
-- Updates the account settings of the user $1.
-- shard: local
UPDATE account
SET protected = $2, following_audience = $3, followers_audience = $4, following_limit = $5
WHERE user_id = $1
