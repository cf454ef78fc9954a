-- name: usage
-- The usage of the limits of the users $1, and the clock. Two probes per user.
-- shard: fan-out
SELECT u.user_id,
       coalesce(c.follows + c.whispers + c.requests, 0) AS following,
       coalesce(c.blocks, 0) AS blocks,
       coalesce(c.paced_until, 0) AS paced_until,
       a.following_limit,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM unnest($1::bigint[]) AS u (user_id)
LEFT JOIN following_count c ON c.user_id = u.user_id
LEFT JOIN account a ON a.user_id = u.user_id
