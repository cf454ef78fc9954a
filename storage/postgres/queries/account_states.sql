-- name: write_state
-- Sets the state of the user $1 to $2: one row.
-- shard: local
UPDATE account
SET state = $2::smallint, changed_at = clock.now, deleted_at = CASE WHEN $2 = 2 THEN clock.now END
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) clock
WHERE user_id = $1

-- name: states
-- The states of the users $1: a probe each.
-- shard: local
SELECT user_id, state, deleted_at, erased_at FROM account WHERE user_id = ANY ($1::bigint[])

-- name: edges_left
-- The numbers of remaining edges of the users $1: two probes each.
-- shard: $1[]
SELECT user_id, sum(edges)::bigint AS edges_left
FROM (
    SELECT user_id, follows + whispers + requests + blocks AS edges
    FROM following_count WHERE user_id = ANY ($1::bigint[])
    UNION ALL
    SELECT user_id, follows + whispers + requests + blocks
    FROM follower_count WHERE user_id = ANY ($1)
) part
GROUP BY user_id
