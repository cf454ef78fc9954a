-- name: shards_of_on_citus
-- The shard group of each of the users $1, by the number of its shard of `following`.
-- shard: local
SELECT user_id, get_shard_id_for_distribution_column('following'::text::regclass, user_id) AS shard_id
FROM unnest($1::bigint[]) AS user_id
