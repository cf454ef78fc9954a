-- The shards of a space on Citus. `Shard group` is the shards of all tables with the same users.

-- name: shard_groups
-- Each shard group by the number of its shard of `following`: the range of hashes of its users, its
-- machine, and its bytes. Asks all machines for the sizes.
-- shard: local
SELECT min(s.shardid) FILTER (WHERE t.relname = 'following') AS shard_id,
       s.shardminvalue::integer AS first_hash, s.shardmaxvalue::integer AS last_hash,
       c.nodename || ':' || c.nodeport AS node, sum(c.shard_size)::bigint AS bytes
FROM pg_dist_shard s
JOIN pg_class t ON t.oid = s.logicalrelid
JOIN citus_shards c ON c.shardid = s.shardid
WHERE t.relnamespace = current_schema()::regnamespace AND s.shardminvalue IS NOT NULL
GROUP BY s.shardminvalue, s.shardmaxvalue, c.nodename, c.nodeport
ORDER BY first_hash

-- name: edges
-- PostgreSQL's estimates of the rows of both directions, by the first hash of the shard group.
-- shard: local
SELECT s.shardminvalue::integer AS first_hash, sum(r.result::bigint)::bigint AS edges
FROM unnest(ARRAY['following', 'follower']) AS t (name)
CROSS JOIN LATERAL run_command_on_shards(
    t.name::regclass,
    'SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = ''%s''::regclass'
) r
JOIN pg_dist_shard s ON s.shardid = r.shardid
WHERE r.success
GROUP BY s.shardminvalue

-- name: whales
-- The $1 users with the most edges to them. Reads the counts of all users.
-- shard: fan-out
SELECT user_id, follows + whispers + requests + blocks AS edges
FROM follower_count ORDER BY edges DESC, user_id LIMIT $1

-- name: shard_of
-- The shard of `following` of the user $1.
-- shard: local
SELECT get_shard_id_for_distribution_column('following'::text::regclass, $1::bigint) AS shard_id

-- name: isolate
-- Moves the rows of the user $1 into a shard group of their own, and the other users of the group
-- into two more, while writes go on. Returns the number of the new shard of `following`.
-- shard: local
SELECT isolate_tenant_to_new_shard('following'::text::regclass, $1::bigint, 'CASCADE') AS shard_id
