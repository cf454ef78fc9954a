-- name: lock_pair
-- Locks the edges and counts of both users until the transaction ends: see functions/lock_pair.sql.
-- For a change that other writers have made outdated several times.
-- shard: local
SELECT lock_pair($1::bigint, $2::bigint, true)

-- name: read_pair
-- Both ends of the pair $1 and $2, in the columns of pair_states.py: each user's edge to the other,
-- count and account, and whether the outbox holds a change of that edge, made by the user $1. Eight
-- probes of primary keys. Also the number of lanes: one row. One snapshot; on Citus, one for each
-- user.
-- shard: $1, $2
WITH own AS MATERIALIZED (
    SELECT o.waits, c.follows, c.whispers, c.requests, c.blocks, c.paced_until, f.kind, f.flags,
           f.since, f.version, f.muted_until, f.message, a.following_limit, a.protected, a.state
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = $1
    LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
    LEFT JOIN account a ON a.user_id = $1
    LEFT JOIN (
        SELECT true AS waits FROM outbox
        WHERE from_user_id = $1 AND to_user_id = $2 AND NOT by_target LIMIT 1
    ) o ON true
), other AS MATERIALIZED ( -- on Citus, each of the two CTEs is one round trip
    SELECT o.waits, c.follows, c.whispers, c.requests, c.blocks, c.paced_until, f.kind, f.flags,
           f.since, f.version, f.muted_until, f.message, a.following_limit, a.protected, a.state,
           coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) AS lanes
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = $2
    LEFT JOIN following f ON f.from_user_id = $2 AND f.to_user_id = $1
    LEFT JOIN account a ON a.user_id = $2
    LEFT JOIN (
        SELECT true AS waits FROM outbox
        WHERE from_user_id = $2 AND to_user_id = $1 AND by_target LIMIT 1
    ) o ON true
)
SELECT own.*, other.*, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM own CROSS JOIN other -- no table: Citus would send both to each machine with a copy of it

-- name: write_decision
-- Writes a decision, if its conditions still hold: see functions/write_decision.sql. Two probes, a
-- third if a step adds a kind or a flag, and, for each step, one row of each of three tables.
-- shard: local
SELECT write_decision($1::jsonb) AS result
