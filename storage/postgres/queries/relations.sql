-- name: relations
-- Both directions of the pairs ($1[i], $2[i]), from the rows placed with $1[i]: two probes a pair.
-- No list's index holds `version`, so the probes take the primary keys: a list's index, which would
-- spare the visit to the row, is walked through all that a star's list holds.
-- Between users of whom the first has a change on its way to the second, the second's own forward
-- row is looked at too: the transaction that made the change has seen it. The newest version counts.
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
-- Everything between the users $1 and anybody, at most $2 edges a user and direction: two index
-- ranges a user, and what the others are to them whom their own changes are on the way to.
-- The row of user 0 carries the clock, read after the snapshot was taken: whatever had been committed
-- by then, and is not here, is a tombstone. A row about nobody says that the user has more followers
-- than $2, which are not read.
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
WHERE c.user_id = ANY ($1::bigint[])
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
