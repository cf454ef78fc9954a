-- Both ends of the pairs (`sources`[i], `targets`[i]): first the ends of all sources, then the ends
-- of all targets, in the order of the pairs. An end has a user's edge to the other, count and
-- account. `waits`: the outbox holds a change of this edge by the source of the pair. `lanes`: the
-- number of lanes. Four probes for each end, all in one snapshot. Only
-- storage/postgres/edge_batches.py calls it, and not on Citus, where the conditions would have to
-- name the shards. Such a condition, `= ANY` of all users, took twice as long as the probes,
-- because each index scan sorts the array.
-- shard: plain
CREATE OR REPLACE FUNCTION read_ends(sources bigint[], targets bigint[]) RETURNS TABLE (
    waits boolean, follows integer, whispers integer, requests integer, blocks integer,
    paced_until bigint, kind smallint, flags smallint, since bigint, version bigint,
    muted_until bigint, message text, following_limit integer, protected boolean, state smallint,
    lanes smallint
) LANGUAGE sql STABLE AS $$
SELECT e.waits, e.follows, e.whispers, e.requests, e.blocks, e.paced_until, e.kind, e.flags, e.since,
       e.version, e.muted_until, e.message, a.following_limit, a.protected, a.state,
       coalesce((SELECT l.lanes FROM lane_count l WHERE l.is_only), 8::smallint)
FROM unnest(sources || targets, targets || sources)
    WITH ORDINALITY AS pair (source, target, place)
LEFT JOIN LATERAL (
    SELECT o.waits, c.follows, c.whispers, c.requests, c.blocks, c.paced_until, f.kind, f.flags,
           f.since, f.version, f.muted_until, f.message
    FROM (SELECT 1) AS once
    LEFT JOIN following_count c ON c.user_id = pair.source
    LEFT JOIN following f ON f.from_user_id = pair.source AND f.to_user_id = pair.target
    LEFT JOIN LATERAL (
        SELECT true AS waits FROM outbox w
        WHERE w.from_user_id = pair.source
          AND w.to_user_id + 0 = pair.target -- not the index of targets: a star has many rows
          AND w.by_target = (pair.place > cardinality(sources))
        LIMIT 1
    ) o ON true
    OFFSET 0
) e ON true
LEFT JOIN account a ON a.user_id = pair.source
ORDER BY pair.place
$$;
