-- name: purge_reverse
-- Deletes at most $2 reverse tombstones older than $1 seconds: one range of a small index. It skips
-- locked rows, so it never waits, and rows with a pending change.
-- shard: fan-out
WITH dead AS MATERIALIZED (
    SELECT r.to_user_id, r.from_user_id
    FROM follower r
    WHERE r.kind = 0
      AND r.version < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
      AND NOT EXISTS (
          SELECT 1 FROM outbox o
          WHERE o.from_user_id = r.from_user_id AND o.to_user_id = r.to_user_id
      )
    ORDER BY r.version LIMIT $2
    FOR UPDATE OF r SKIP LOCKED
), gone AS (
    DELETE FROM follower r USING dead d
    WHERE r.to_user_id = d.to_user_id AND r.from_user_id = d.from_user_id AND r.kind = 0
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: purge_forward
-- Deletes forward tombstones in the same way, except those with notes: a user can mute another
-- without following.
-- shard: fan-out
WITH dead AS MATERIALIZED (
    SELECT f.from_user_id, f.to_user_id
    FROM following f
    WHERE f.kind = 0 AND f.flags = 0
      AND f.version < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
      AND NOT EXISTS (
          SELECT 1 FROM outbox o
          WHERE o.from_user_id = f.from_user_id AND o.to_user_id = f.to_user_id
      )
    ORDER BY f.version LIMIT $2
    FOR UPDATE OF f SKIP LOCKED
), gone AS (
    DELETE FROM following f USING dead d
    WHERE f.from_user_id = d.from_user_id AND f.to_user_id = d.to_user_id AND f.kind = 0 AND f.flags = 0
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: purge_receipts
-- Deletes at most $2 receipts older than $1 seconds: one range of a small index.
-- shard: fan-out
WITH old AS MATERIALIZED (
    SELECT actor_id, id FROM receipt
    WHERE made_at < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
    ORDER BY made_at LIMIT $2
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM receipt r USING old o WHERE r.actor_id = o.actor_id AND r.id = o.id RETURNING 1
)
SELECT count(*) FROM gone

-- name: purge_messages
-- Deletes the request messages of at most $2 receipts older than $1 seconds: one range of a small
-- index.
-- shard: fan-out
WITH old AS MATERIALIZED (
    SELECT actor_id, id FROM receipt
    WHERE messages IS NOT NULL
      AND made_at < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
    ORDER BY made_at LIMIT $2
    FOR UPDATE SKIP LOCKED
), gone AS (
    UPDATE receipt r SET messages = NULL FROM old o
    WHERE r.actor_id = o.actor_id AND r.id = o.id
    RETURNING 1
)
SELECT count(*) FROM gone
