-- name: purge_reverse
-- Deletes at most $2 reverse tombstones older than $1 seconds: one range of a small index. It skips
-- locked rows, so it never waits, and rows with a pending change.
-- shard: plain
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
-- Deletes forward tombstones in the same way, except those with flags: a user can mute another
-- without following. With each tombstone, it deletes the target from the groups of the source.
-- shard: plain
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
), members AS (
    DELETE FROM follow_group_member m USING dead d
    WHERE m.user_id = d.from_user_id AND m.target_id = d.to_user_id
)
SELECT count(*) FROM gone

-- name: purge_receipts
-- Deletes at most $2 receipts older than $1 seconds: one range of a small index.
-- shard: plain
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
-- shard: plain
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

-- name: find_reverse_on_citus
-- The next $2 reverse tombstones older than $1 seconds after ($3, $4, $5), and whether the pair has
-- a pending change: one range of a small index on each machine, and the changes of their users. A
-- change that comes later is newer than the tombstone, so it cannot be lost.
-- shard: fan-out
WITH dead AS MATERIALIZED (
    SELECT version, to_user_id, from_user_id FROM follower
    WHERE kind = 0 AND version < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
      AND (version, to_user_id, from_user_id) > ($3::bigint, $4::bigint, $5::bigint)
    ORDER BY version, to_user_id, from_user_id LIMIT $2
), pending AS MATERIALIZED (
    SELECT from_user_id, to_user_id FROM outbox
    WHERE from_user_id = ANY (ARRAY(SELECT from_user_id FROM dead))
)
SELECT d.version AS at, d.to_user_id AS user_id, d.from_user_id AS id, EXISTS (
           SELECT 1 FROM pending p
           WHERE p.from_user_id = d.from_user_id AND p.to_user_id = d.to_user_id
       ) AS is_pending
FROM dead d
ORDER BY at, user_id, id

-- name: purge_reverse_on_citus
-- Deletes the reverse rows ($1[i], $2[i]) of users of one shard, if they are still tombstones older
-- than $3 seconds. It skips locked rows.
-- shard: $1[1]
WITH dead AS MATERIALIZED (
    SELECT r.to_user_id, r.from_user_id
    FROM unnest($1::bigint[], $2::bigint[]) AS d (to_user_id, from_user_id)
    JOIN follower r ON r.to_user_id = d.to_user_id AND r.from_user_id = d.from_user_id
    WHERE r.to_user_id = ANY ($1) AND r.kind = 0
      AND r.version < ((extract(epoch FROM statement_timestamp()) - $3::float8) * 1000000)::bigint
    FOR UPDATE OF r SKIP LOCKED
), gone AS (
    DELETE FROM follower r USING dead d
    WHERE r.to_user_id = d.to_user_id AND r.from_user_id = d.from_user_id
      AND r.to_user_id = ANY ($1)
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: find_forward_on_citus
-- The next $2 forward tombstones in the same way.
-- shard: fan-out
SELECT f.version AS at, f.from_user_id AS user_id, f.to_user_id AS id, EXISTS (
           SELECT 1 FROM outbox o
           WHERE o.from_user_id = f.from_user_id AND o.to_user_id = f.to_user_id
       ) AS is_pending
FROM following f
WHERE f.kind = 0 AND f.flags = 0
  AND f.version < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
  AND (f.version, f.from_user_id, f.to_user_id) > ($3::bigint, $4::bigint, $5::bigint)
ORDER BY at, user_id, id LIMIT $2

-- name: purge_forward_on_citus
-- Deletes the forward rows ($1[i], $2[i]) in the same way.
-- shard: $1[1]
WITH dead AS MATERIALIZED (
    SELECT f.from_user_id, f.to_user_id
    FROM unnest($1::bigint[], $2::bigint[]) AS d (from_user_id, to_user_id)
    JOIN following f ON f.from_user_id = d.from_user_id AND f.to_user_id = d.to_user_id
    WHERE f.from_user_id = ANY ($1) AND f.kind = 0 AND f.flags = 0
      AND f.version < ((extract(epoch FROM statement_timestamp()) - $3::float8) * 1000000)::bigint
    FOR UPDATE OF f SKIP LOCKED
), gone AS (
    DELETE FROM following f USING dead d
    WHERE f.from_user_id = d.from_user_id AND f.to_user_id = d.to_user_id
      AND f.from_user_id = ANY ($1)
    RETURNING 1
), members AS (
    DELETE FROM follow_group_member m USING dead d
    WHERE m.user_id = d.from_user_id AND m.target_id = d.to_user_id AND m.user_id = ANY ($1)
)
SELECT count(*) FROM gone

-- name: find_receipts_on_citus
-- The next $2 receipts older than $1 seconds after ($3, $4, $5): one range of a small index on each
-- machine.
-- shard: fan-out
SELECT made_at AS at, actor_id AS user_id, id, false AS is_pending
FROM receipt
WHERE made_at < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
  AND (made_at, actor_id, id) > ($3::bigint, $4::bigint, $5::uuid)
ORDER BY at, user_id, id LIMIT $2

-- name: purge_receipts_on_citus
-- Deletes the receipts $2 of the users $1, who are of one shard, if they are older than $3 seconds.
-- shard: $1[1]
WITH old AS MATERIALIZED (
    SELECT actor_id, id FROM receipt
    WHERE actor_id = ANY ($1::bigint[]) AND id = ANY ($2::uuid[])
      AND made_at < ((extract(epoch FROM statement_timestamp()) - $3::float8) * 1000000)::bigint
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM receipt r USING old o
    WHERE r.actor_id = o.actor_id AND r.id = o.id AND r.actor_id = ANY ($1)
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: find_messages_on_citus
-- The same for receipts that have request messages.
-- shard: fan-out
SELECT made_at AS at, actor_id AS user_id, id, false AS is_pending
FROM receipt
WHERE messages IS NOT NULL
  AND made_at < ((extract(epoch FROM statement_timestamp()) - $1::float8) * 1000000)::bigint
  AND (made_at, actor_id, id) > ($3::bigint, $4::bigint, $5::uuid)
ORDER BY at, user_id, id LIMIT $2

-- name: purge_messages_on_citus
-- Deletes the request messages of the receipts $2 in the same way.
-- shard: $1[1]
WITH old AS MATERIALIZED (
    SELECT actor_id, id FROM receipt
    WHERE actor_id = ANY ($1::bigint[]) AND id = ANY ($2::uuid[]) AND messages IS NOT NULL
      AND made_at < ((extract(epoch FROM statement_timestamp()) - $3::float8) * 1000000)::bigint
    FOR UPDATE SKIP LOCKED
), gone AS (
    UPDATE receipt r SET messages = NULL FROM old o
    WHERE r.actor_id = o.actor_id AND r.id = o.id AND r.actor_id = ANY ($1)
    RETURNING 1
)
SELECT count(*) FROM gone
