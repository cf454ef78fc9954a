-- name: read_pair
-- Both directions, both counts and both accounts, and whether changes of either direction that the
-- user $1 has made wait in the outbox: eight probes of primary keys. And the number of lanes: one
-- row. One snapshot; on Citus, one for each user.
-- shard: $1, $2
WITH f AS MATERIALIZED (
    SELECT c.follows, c.whispers, c.requests, c.blocks, c.paced_until, f.kind, f.flags, f.since,
           f.version, f.muted_until, f.message, o.waits, a.following_limit, a.state,
           coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) AS lanes
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = $1
    LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
    LEFT JOIN account a ON a.user_id = $1
    LEFT JOIN (
        SELECT true AS waits FROM outbox
        WHERE from_user_id = $1 AND to_user_id = $2 AND NOT by_target LIMIT 1
    ) o ON true
), r AS MATERIALIZED ( -- two parts on Citus, each one round trip
    SELECT c.follows, c.whispers, c.requests, f.kind, f.flags, f.since, f.version, f.message,
           o.waits, a.following_limit, a.protected, a.state
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = $2
    LEFT JOIN following f ON f.from_user_id = $2 AND f.to_user_id = $1
    LEFT JOIN account a ON a.user_id = $2
    LEFT JOIN (
        SELECT true AS waits FROM outbox
        WHERE from_user_id = $2 AND to_user_id = $1 AND by_target LIMIT 1
    ) o ON true
)
SELECT coalesce(f.follows + f.whispers + f.requests, 0) AS following, coalesce(f.blocks, 0) AS blocks,
       coalesce(f.paced_until, 0) AS paced_until,
       coalesce(r.follows + r.whispers + r.requests, 0) AS other_following,
       f.kind, f.flags, f.since, f.version, f.muted_until, f.message,
       r.kind AS reverse_kind, r.flags AS reverse_flags, r.since AS reverse_since,
       r.version AS reverse_version, r.message AS other_message,
       f.following_limit, r.following_limit AS other_following_limit,
       coalesce(r.protected, false) AS protected,
       coalesce(f.state, 0) = 0 AND coalesce(r.state, 0) = 0 AS present,
       coalesce(f.state, 0) = 0 AS active,
       2 IN (f.state, r.state) IS TRUE AS deleted,
       f.waits IS TRUE AS waits, r.waits IS TRUE AS reverse_waits,
       f.lanes, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM f CROSS JOIN r -- no table: on Citus, every machine that has a copy of one would get both parts

-- name: write_decision
-- Writes a decision, if its conditions still hold: see functions/write_decision.sql. Two
-- probes and, for each step, one row of each of three tables. A step that begins something costs a
-- third probe.
-- shard: local
SELECT write_decision($1::jsonb) AS result
