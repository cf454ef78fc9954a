-- No list's index holds `version`, so the probes use the primary keys. An index-only scan of a
-- list's index would read a star's whole list.
--
-- A reverse row may lag behind a pending change of the other user, although the transaction of the
-- user's own pending change has seen the forward row of that change. So the statements also return
-- the user's own pending changes, in the snapshot of the reverse rows, as rows without a direction
-- (`forward` is null). `reverse_of_targets` then reads the forward rows of their targets. Of two
-- rows of one edge, the row with the newer version counts.

-- name: relations
-- Both directions between the user $1 and each of $2: two probes per user. The LIMITs keep them
-- probes: of an array, the planner might read a star's whole list.
-- shard: $1
SELECT $1::bigint AS user_id, o.id AS other_id, true AS forward, f.kind, f.flags, f.since, f.version
FROM unnest($2::bigint[]) AS o (id)
CROSS JOIN LATERAL (
    SELECT f.kind, f.flags, f.since, f.version FROM following f
    WHERE f.from_user_id = $1 AND f.to_user_id = o.id
      AND (f.kind <> 0 OR f.flags <> 0) AND f.version > 0
    LIMIT 1
) f
UNION ALL
SELECT $1, o.id, false, r.kind, r.flags, r.since, r.version
FROM unnest($2) AS o (id)
CROSS JOIN LATERAL (
    SELECT r.kind, r.flags, r.since, r.version FROM follower r
    WHERE r.to_user_id = $1 AND r.from_user_id = o.id AND r.kind <> 0 AND r.version > 0
    LIMIT 1
) r
UNION ALL
SELECT o.from_user_id, o.to_user_id, NULL, 0::smallint, 0::smallint, 0, 0
FROM outbox o WHERE o.from_user_id = $1 AND o.to_user_id = ANY ($2)

-- name: relations_of_pairs
-- The same for the pairs ($1[i], $2[i]). On Citus, `relations` is sent for each user of $1 instead.
-- shard: fan-out
SELECT f.from_user_id AS user_id, f.to_user_id AS other_id, true AS forward,
       f.kind, f.flags, f.since, f.version
FROM unnest($1::bigint[], $2::bigint[]) AS pair (user_id, other_id)
JOIN following f ON f.from_user_id = pair.user_id AND f.to_user_id = pair.other_id
WHERE (f.kind <> 0 OR f.flags <> 0) AND f.version > 0
UNION ALL
SELECT r.to_user_id, r.from_user_id, false, r.kind, r.flags, r.since, r.version
FROM unnest($1::bigint[], $2::bigint[]) AS pair (user_id, other_id)
JOIN follower r ON r.to_user_id = pair.user_id AND r.from_user_id = pair.other_id
WHERE r.kind <> 0 AND r.version > 0
UNION ALL
SELECT o.from_user_id, o.to_user_id, NULL, 0::smallint, 0::smallint, 0, 0
FROM outbox o WHERE o.from_user_id = ANY ($1) AND o.to_user_id = ANY ($2)

-- name: all_relations
-- All edges of the users $1, at most $2 for each user and direction: two index ranges per user. The
-- row of user 0 has the clock, read after the snapshot was taken: an edge that was committed by
-- then and is not returned is a tombstone. A row with the other user 0 means that the user has more
-- edges in that direction than $2, which are not read.
-- shard: $1[]
SELECT 0 AS user_id, 0 AS other_id, true AS forward, 0 AS kind, 0 AS flags, 0 AS since,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS version
UNION ALL
SELECT edge.*
FROM ( -- each part begins with the user, so that Citus runs all of it on the user's shard
    SELECT c.user_id, e.id, true, e.kind, e.flags, e.since, e.version
    FROM following_count c
    CROSS JOIN LATERAL (
        SELECT f.to_user_id AS id, f.kind, f.flags, f.since, f.version
        FROM following f
        WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1)
          AND (f.kind <> 0 OR f.flags <> 0)
        LIMIT $2::integer + 1
    ) e
    WHERE c.user_id = ANY ($1::bigint[]) AND c.follows + c.whispers + c.requests + c.blocks <= $2
    UNION ALL
    SELECT c.user_id, 0, true, 0::smallint, 0::smallint, 0, 0
    FROM following_count c
    WHERE c.user_id = ANY ($1) AND c.follows + c.whispers + c.requests + c.blocks > $2
    UNION ALL
    SELECT c.user_id, e.id, false, e.kind, e.flags, e.since, e.version
    FROM follower_count c
    CROSS JOIN LATERAL (
        SELECT r.from_user_id AS id, r.kind, r.flags, r.since, r.version
        FROM follower r
        WHERE r.to_user_id = c.user_id AND r.to_user_id = ANY ($1) AND r.kind <> 0
        LIMIT $2::integer + 1
    ) e
    WHERE c.user_id = ANY ($1) AND c.follows + c.whispers + c.requests + c.blocks <= $2
    UNION ALL
    SELECT c.user_id, 0, false, 0::smallint, 0::smallint, 0, 0
    FROM follower_count c
    WHERE c.user_id = ANY ($1) AND c.follows + c.whispers + c.requests + c.blocks > $2
    UNION ALL
    SELECT o.from_user_id, o.to_user_id, NULL, 0::smallint, 0::smallint, 0, 0
    FROM outbox o WHERE o.from_user_id = ANY ($1)
) edge

-- name: reverse_of_targets
-- The forward rows from the users $1 to the users $2, in the form of reverse rows: a probe per
-- pair.
-- shard: $1[]
SELECT b.to_user_id AS user_id, b.from_user_id AS other_id, false AS forward,
       b.kind, b.flags, b.since, b.version
FROM following b
WHERE b.from_user_id = ANY ($1::bigint[]) AND b.to_user_id = ANY ($2::bigint[]) AND b.version > 0
