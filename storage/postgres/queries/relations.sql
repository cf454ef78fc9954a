-- name: relations
-- Both directions of the pairs ($1[i], $2[i]), from the rows on the shard of $1[i]: two probes per
-- pair. No list's index holds `version`, so the probes use the primary keys. An index-only scan of
-- a list's index would read a star's whole list.
--
-- If the first user has a pending change to the second, the second user's forward row is read too:
-- the transaction of that change has seen it. The newest version counts.
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
SELECT b.to_user_id, b.from_user_id, false, b.kind, b.flags, b.since, b.version
FROM outbox o
JOIN following b ON b.from_user_id = o.to_user_id AND b.to_user_id = o.from_user_id
WHERE o.from_user_id = ANY ($1) AND o.to_user_id = ANY ($2) AND b.version > 0

-- name: all_relations
-- All edges of the users $1, at most $2 for each user and direction: two index ranges per user, and
-- the forward rows of the users to whom they have pending changes. The row of user 0 has the clock,
-- read after the snapshot was taken: an edge that was committed by then and is not returned is a
-- tombstone. A row with the other user 0 means that the user has more edges in that direction than
-- $2, which are not read.
-- shard: fan-out
SELECT 0 AS user_id, 0 AS other_id, true AS forward, 0 AS kind, 0 AS flags, 0 AS since,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS version
UNION ALL
SELECT c.user_id, e.id, true, e.kind, e.flags, e.since, e.version
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.to_user_id AS id, f.kind, f.flags, f.since, f.version
    FROM following f WHERE f.from_user_id = c.user_id AND (f.kind <> 0 OR f.flags <> 0)
    LIMIT $2::integer + 1
) e
WHERE c.user_id = ANY ($1::bigint[]) AND c.follows + c.whispers + c.requests + c.blocks <= $2
UNION ALL
SELECT c.user_id, 0, true, 0, 0, 0, 0
FROM following_count c
WHERE c.user_id = ANY ($1::bigint[]) AND c.follows + c.whispers + c.requests + c.blocks > $2
UNION ALL
SELECT c.user_id, e.id, false, e.kind, e.flags, e.since, e.version
FROM follower_count c
CROSS JOIN LATERAL (
    SELECT r.from_user_id AS id, r.kind, r.flags, r.since, r.version
    FROM follower r WHERE r.to_user_id = c.user_id AND r.kind <> 0
    LIMIT $2::integer + 1
) e
WHERE c.user_id = ANY ($1::bigint[]) AND c.follows + c.whispers + c.requests + c.blocks <= $2
UNION ALL
SELECT c.user_id, 0, false, 0, 0, 0, 0
FROM follower_count c
WHERE c.user_id = ANY ($1::bigint[]) AND c.follows + c.whispers + c.requests + c.blocks > $2
UNION ALL
SELECT b.to_user_id, b.from_user_id, false, b.kind, b.flags, b.since, b.version
FROM outbox o
JOIN following b ON b.from_user_id = o.to_user_id AND b.to_user_id = o.from_user_id
WHERE o.from_user_id = ANY ($1) AND b.version > 0
