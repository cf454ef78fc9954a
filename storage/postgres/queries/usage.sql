-- name: usage
-- How much of their limits the users $1 have used, and their own following limits, in separate
-- rows: two probes per user. The row of user 0 has the clock.
-- shard: $1[]
SELECT 0 AS user_id, 0 AS following, 0 AS blocks, 0 AS paced_until, NULL::integer AS following_limit,
       false AS of_account, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
UNION ALL
SELECT c.user_id, c.follows + c.whispers + c.requests, c.blocks, c.paced_until, NULL, false, NULL
FROM following_count c WHERE c.user_id = ANY ($1::bigint[])
UNION ALL
SELECT a.user_id, 0, 0, 0, a.following_limit, true, NULL
FROM account a WHERE a.user_id = ANY ($1)
