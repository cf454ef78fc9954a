-- name: list_failed
-- The failed changes, at most $3: a range of the lanes from $1 to $2.
-- shard: fan-out
SELECT id, from_user_id, to_user_id, kind, version, tries, error
FROM outbox WHERE lane BETWEEN $1 AND $2 ORDER BY lane, id LIMIT $3

-- name: count_failed
-- The number of failed changes, up to $3: a range of the lanes from $1 to $2.
-- shard: fan-out
SELECT count(*) FROM (SELECT 1 FROM outbox WHERE lane BETWEEN $1 AND $2 LIMIT $3) o

-- name: retry_failed
-- Moves the failed changes $3, or all of them if it is null, back to their lanes: reads the failed
-- changes in the lanes from $1 to $2.
-- shard: fan-out
UPDATE outbox SET lane = lane - $1
WHERE lane BETWEEN $1 AND $2 AND ($3::bigint[] IS NULL OR id = ANY ($3))
RETURNING id, lane

-- name: drop_failed
-- Deletes the failed changes $3: reads the failed changes in the lanes from $1 to $2.
-- shard: fan-out
DELETE FROM outbox WHERE lane BETWEEN $1 AND $2 AND id = ANY ($3::bigint[]) RETURNING id
