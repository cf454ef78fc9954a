-- name: read_pair
-- Both directions, both counts and both accounts, and whether changes of either direction that the
-- user $1 has made wait in the outbox, in one snapshot: eight probes of primary keys. And the number of
-- lanes: one row.
-- shard: $1, $2
SELECT coalesce(c.follows + c.whispers + c.requests, 0) AS following, coalesce(c.blocks, 0) AS blocks,
       coalesce(c.paced_until, 0) AS paced_until,
       coalesce(oc.follows + oc.whispers + oc.requests, 0) AS other_following,
       f.kind, f.flags, f.since, f.version, f.muted_until, f.message,
       r.kind AS reverse_kind, r.flags AS reverse_flags, r.since AS reverse_since,
       r.version AS reverse_version, r.message AS other_message,
       own.following_limit, other.following_limit AS other_following_limit,
       coalesce(other.protected, false) AS protected,
       coalesce(own.state, 0) = 0 AND coalesce(other.state, 0) = 0 AS present,
       coalesce(own.state, 0) = 0 AS active,
       2 IN (own.state, other.state) IS TRUE AS deleted,
       o.waits IS TRUE AS waits, ro.waits IS TRUE AS reverse_waits,
       count_lanes() AS lanes, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM (SELECT 1) AS one
LEFT JOIN following_count c ON c.user_id = $1
LEFT JOIN following_count oc ON oc.user_id = $2
LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
LEFT JOIN following r ON r.from_user_id = $2 AND r.to_user_id = $1
LEFT JOIN account own ON own.user_id = $1
LEFT JOIN account other ON other.user_id = $2
LEFT JOIN (
    SELECT true AS waits FROM outbox
    WHERE from_user_id = $1 AND to_user_id = $2 AND NOT by_target LIMIT 1
) o ON true
LEFT JOIN (
    SELECT true AS waits FROM outbox
    WHERE from_user_id = $2 AND to_user_id = $1 AND by_target LIMIT 1
) ro ON true

-- name: write_decision
-- Writes a decision, if its conditions still hold: see functions/write_decision.sql. Two
-- probes and, for each step, one row of each of three tables. A step that begins something costs a
-- third probe.
-- shard: local
SELECT write_decision($1::jsonb) AS result
