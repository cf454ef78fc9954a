-- name: write_state
-- The state of the user $1 is $2 from now on: one row.
UPDATE account
SET state = $2::smallint, changed_at = clock.now, deleted_at = CASE WHEN $2 = 2 THEN clock.now END
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) clock
WHERE user_id = $1

-- name: states
-- The states of the users $1, and how many edges are counted of those that are deleted: three probes
-- each.
SELECT a.user_id, a.state, a.deleted_at, a.erased_at,
       coalesce(c.follows + c.whispers + c.requests + c.blocks, 0)
           + coalesce(r.follows + r.whispers + r.requests + r.blocks, 0) AS edges_left
FROM account a
LEFT JOIN following_count c ON c.user_id = a.user_id AND a.state = 2
LEFT JOIN follower_count r ON r.user_id = a.user_id AND a.state = 2
WHERE a.user_id = ANY ($1::bigint[])

-- name: neighbours
-- Whose lists the user $1 stands in, at most the newest $2 of either direction: an index range a kind.
SELECT id FROM (
    SELECT e.id FROM unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT f.to_user_id AS id FROM following f
        WHERE f.from_user_id = $1::bigint AND f.kind = k.kind
        ORDER BY f.since DESC, f.to_user_id DESC LIMIT $2::integer
    ) e
    UNION
    SELECT e.id FROM unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT r.from_user_id AS id FROM follower r
        WHERE r.to_user_id = $1 AND r.kind = k.kind
        ORDER BY r.since DESC, r.from_user_id DESC LIMIT $2
    ) e
    UNION
    SELECT r.from_user_id FROM follower r
    WHERE r.to_user_id = $1 AND r.kind = 0 AND r.flags <> 0
    LIMIT 9 * $2
) ids
