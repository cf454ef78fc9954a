-- The whole graph in the order of its key, for files.

-- name: edges
-- The next $1 edges after ($2, $3), of the kinds $4, that began from $5 until before $6, of every
-- $7th user: those whose hash leaves the remainder $8. One range of the primary key.
-- shard: fan-out
SELECT from_user_id, to_user_id, since, kind, flags
FROM following
WHERE (from_user_id, to_user_id) > ($2::bigint, $3::bigint)
  AND kind = ANY ($4::smallint[]) AND since >= $5::bigint AND since < $6::bigint
  AND ($7::integer = 1 OR mod(mod(hash_user(from_user_id), $7) + $7, $7) = $8::integer)
ORDER BY from_user_id, to_user_id
LIMIT $1

-- name: estimate
-- About how many edges there are, by the statistics of all partitions.
-- shard: local
SELECT coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint
FROM pg_class c
WHERE c.relkind = 'r' AND c.oid IN (
    SELECT relid FROM pg_partition_tree('following') UNION SELECT 'following'::regclass
)
