-- name: find_follows
-- Since when the user $1 follows those of the users $2 whose accounts are active: two probes each.
-- shard: $1
SELECT f.to_user_id, f.since
FROM following f
WHERE f.from_user_id = $1 AND f.to_user_id = ANY ($2::bigint[])
  AND f.kind::integer IN (1, 2) AND f.version > 0
  AND NOT EXISTS (SELECT 1 FROM account a WHERE a.user_id = f.to_user_id AND a.state <> 0)
