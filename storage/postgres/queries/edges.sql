-- name: lock_pair
-- Waits for whoever else is changing something between the same two users.
SELECT pg_advisory_xact_lock($1, $2)

-- name: read_for_change
-- Both directions, and the actor's count row locked: three probes of primary keys.
SELECT c.follows,
       f.kind, f.flags, f.since, f.version,
       b.kind AS back_kind, b.flags AS back_flags, b.since AS back_since, b.version AS back_version,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM following_count c
LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
LEFT JOIN following b ON b.from_user_id = $2 AND b.to_user_id = $1
WHERE c.user_id = $1
FOR UPDATE OF c

-- name: ensure_following_count
-- The row that the next read locks: written once in a user's life.
INSERT INTO following_count (user_id) VALUES ($1) ON CONFLICT (user_id) DO NOTHING

-- name: write_change
-- The edge, the actor's count and the outbox row: one row of each.
WITH edge AS (
    INSERT INTO following AS f (from_user_id, to_user_id, kind, flags, since, version)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (from_user_id, to_user_id) DO UPDATE
    SET kind = excluded.kind, flags = excluded.flags,
        since = excluded.since, version = excluded.version
), own AS (
    UPDATE following_count SET follows = follows + $7, friends = friends + $8 WHERE user_id = $1
)
INSERT INTO outbox (lane, from_user_id, to_user_id, kind, flags, since, version, friends, former)
VALUES ($9, $1, $2, $3, $4, $5, $6, $8, $10)
