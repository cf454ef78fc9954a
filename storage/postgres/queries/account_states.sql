-- name: write_state
-- Sets the state of the user $1 to $2: one row.
-- shard: local
UPDATE account
SET state = $2::smallint, changed_at = clock.now, deleted_at = CASE WHEN $2 = 2 THEN clock.now END
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) clock
WHERE user_id = $1

-- name: states
-- The states of the users $1 and, for deleted accounts, the number of remaining edges: three probes
-- each.
-- shard: fan-out
SELECT a.user_id, a.state, a.deleted_at, a.erased_at,
       coalesce(c.follows + c.whispers + c.requests + c.blocks, 0)
           + coalesce(r.follows + r.whispers + r.requests + r.blocks, 0) AS edges_left
FROM account a
LEFT JOIN following_count c ON c.user_id = a.user_id AND a.state = 2
LEFT JOIN follower_count r ON r.user_id = a.user_id AND a.state = 2
WHERE a.user_id = ANY ($1::bigint[])
