-- name: lock_pair
-- Locks the edges and counts of both users until the transaction ends: see functions/lock_pair.sql.
-- For a change that other writers have made outdated several times.
-- shard: local
SELECT lock_pair($1::bigint, $2::bigint, true)

-- name: read_pair
-- Both ends of the pair $1 and $2, in the columns of pair_states.py: each user's edge to the other,
-- count and account, and whether a change of the edge that the user $1 has made waits in the outbox.
-- Eight probes of primary keys. And the number of lanes: one row. One snapshot; on Citus, one for
-- each user.
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
), other AS MATERIALIZED ( -- two parts on Citus, each one round trip
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
FROM own CROSS JOIN other -- no table: on Citus, every machine that has a copy of one would get both

-- name: write_decision
-- Writes a decision, if its conditions still hold: see functions/write_decision.sql. Two
-- probes and, for each step, one row of each of three tables. A step that begins something costs a
-- third probe.
-- shard: local
SELECT write_decision($1::jsonb) AS result
