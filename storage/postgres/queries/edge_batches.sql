-- name: read_ends
-- For each of the pairs ($1[i], $2[i]): the edge, count and account of its first user, whether a change of
-- the edge waits in the outbox that the first user has made or, if $4, the second; and the number of
-- lanes: four probes per pair. $3 are the first users.
-- shard: $3[1]
SELECT e.waits, e.follows, e.whispers, e.requests, e.blocks, e.paced_until, e.kind, e.flags, e.since,
       e.version, e.muted_until, e.message, a.following_limit, a.protected, a.state,
       coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) AS lanes,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS pair (source, target, place)
LEFT JOIN LATERAL (
    SELECT o.waits, c.follows, c.whispers, c.requests, c.blocks, c.paced_until, f.kind, f.flags,
           f.since, f.version, f.muted_until, f.message
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = pair.source AND c.user_id = ANY ($3::bigint[])
    LEFT JOIN following f
        ON f.from_user_id = pair.source AND f.from_user_id = ANY ($3) AND f.to_user_id = pair.target
    LEFT JOIN LATERAL (
        SELECT true AS waits FROM outbox w
        WHERE w.from_user_id = pair.source AND w.from_user_id = ANY ($3)
          AND w.to_user_id = pair.target AND w.by_target = $4
        LIMIT 1
    ) o ON true
    OFFSET 0
) e ON true
LEFT JOIN account a ON a.user_id = pair.source
ORDER BY pair.place

-- name: write_decisions
-- Writes decisions about different pairs in one transaction: see functions/write_decisions.sql.
-- shard: local
SELECT write_decisions($1::jsonb, $2::text[]::jsonb[], $3::integer[], $4::bigint[]) AS results
