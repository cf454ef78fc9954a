-- name: accounts
-- What the users $1 say about themselves: a probe a user, in a table that nearly nobody is in.
SELECT user_id, protected, following_audience, followers_audience, state = 0 AS present,
       following_limit
FROM account WHERE user_id = ANY ($1::bigint[])

-- name: set_privacy
-- What the user $1 says anew, where $2 to $4 are not null: one row.
INSERT INTO account AS a (user_id, protected, following_audience, followers_audience)
VALUES ($1, coalesce($2, false), coalesce($3, 0), coalesce($4, 0))
ON CONFLICT (user_id) DO UPDATE
SET protected = coalesce($2, a.protected),
    following_audience = coalesce($3, a.following_audience),
    followers_audience = coalesce($4, a.followers_audience)
RETURNING user_id, protected, following_audience, followers_audience, state = 0 AS present,
          following_limit

-- name: set_following_limit
-- How many users the user $1 may follow, null for as many as everybody: one row.
INSERT INTO account AS a (user_id, following_limit) VALUES ($1, $2)
ON CONFLICT (user_id) DO UPDATE SET following_limit = excluded.following_limit
RETURNING user_id, protected, following_audience, followers_audience, state = 0 AS present,
          following_limit
