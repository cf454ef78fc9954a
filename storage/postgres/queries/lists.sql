-- Pages of many users' lists in one statement. They start from the count tables, which have a row
-- for every user with a list (Citus pushes this form down, but not a LATERAL over unnest).
--
-- $2, $3 and $4, $5 are the positions between which the window lies; $6 is its size and one more.
-- If a list holds several kinds, $7, each is one index range, and their heads are merged.
--
-- $8 is the viewer (0 for none). The reverse rows may lag behind the viewer's own follows, so in
-- other users' lists the viewer's entry is left out there and read from the forward rows, which
-- never lag. The same holds for the viewer's own friends to whom a change of the viewer is pending:
-- the transaction of that change has seen both forward rows.

-- name: following_of_one_{older,newer}
-- A list without pending changes of the viewer: one index range of $6 entries, (8, 8) bytes each in
-- the order of the range. One value, because a row for each entry costs several times as much.
-- shard: $1
SELECT string_agg(int8send(p.since) || int8send(p.id), '')
FROM (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = $1 AND f.kind = 1
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p

-- name: followers_of_one_{older,newer}
-- The same for the followers.
-- shard: $1
SELECT string_agg(int8send(p.since) || int8send(p.id), '')
FROM (
    SELECT r.since, r.from_user_id AS id
    FROM follower r
    WHERE r.to_user_id = $1 AND r.kind = 1
      AND (r.since, r.from_user_id) < ($2::bigint, $3::bigint)
      AND (r.since, r.from_user_id) > ($4::bigint, $5::bigint)
    ORDER BY r.since {DESC,ASC}, r.from_user_id {DESC,ASC}
    LIMIT $6
) p

-- name: following_{older,newer}
-- One index range of $6 entries per user and kind, from its new end or its old one.
-- shard: fan-out
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT e.since, e.id
    FROM unnest($7::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT f.since, f.to_user_id AS id
        FROM following f
        WHERE f.from_user_id = c.user_id AND f.kind = k.kind
          AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
          AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
        ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
        LIMIT $6
    ) e
    ORDER BY e.since {DESC,ASC}, e.id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: followers_{older,newer}
-- One index range of $6 entries per user and kind, and one probe per user for the viewer.
-- shard: fan-out
SELECT c.user_id, p.since, p.id
FROM follower_count c
CROSS JOIN LATERAL (
    SELECT e.since, e.id
    FROM unnest($7::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT r.since, r.from_user_id AS id
        FROM follower r
        WHERE r.to_user_id = c.user_id AND r.kind = k.kind AND r.from_user_id <> $8::bigint
          AND (r.since, r.from_user_id) < ($2::bigint, $3::bigint)
          AND (r.since, r.from_user_id) > ($4::bigint, $5::bigint)
        ORDER BY r.since {DESC,ASC}, r.from_user_id {DESC,ASC}
        LIMIT $6
    ) e
    ORDER BY e.since {DESC,ASC}, e.id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])
UNION ALL
SELECT f.to_user_id, f.since, f.from_user_id
FROM following f
WHERE f.from_user_id = $8 AND f.to_user_id = ANY ($1) AND f.kind = ANY ($7)

-- name: close_follows_{older,newer}
-- One range of a small index per user, which holds only close follows.
-- shard: fan-out
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = c.user_id AND f.flags & 1 <> 0 AND f.kind IN (1, 2)
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: muted_{older,newer}
-- One range of a small index per user, which holds all mutes, with or without a follow.
-- shard: fan-out
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = c.user_id AND f.flags & 2 <> 0
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: friends_{older,newer}
-- Every follow of a user probes one reverse row: bounded by the following limit. The LIMIT and
-- `version` keep it a probe: a plain join would start with all followers of a star, and only the
-- primary key's index is left if `version` is needed (see relations.sql). The viewer is $7.
-- shard: fan-out
WITH own AS MATERIALIZED (
    SELECT coalesce(array_agg(DISTINCT to_user_id), '{}') AS towards
    FROM outbox WHERE from_user_id = $7::bigint
)
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT greatest(f.since, r.since) AS since, f.to_user_id AS id
    FROM following f
    CROSS JOIN LATERAL (
        SELECT r.since FROM follower r
        WHERE r.to_user_id = f.from_user_id AND r.from_user_id = f.to_user_id
          AND r.kind = 1 AND r.version > 0
        LIMIT 1
    ) r
    WHERE f.from_user_id = c.user_id AND f.kind = 1 AND f.to_user_id <> $7::bigint
      AND (c.user_id <> $7 OR f.to_user_id <> ALL ((SELECT towards FROM own)::bigint[]))
      AND (greatest(f.since, r.since), f.to_user_id) < ($2::bigint, $3::bigint)
      AND (greatest(f.since, r.since), f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY greatest(f.since, r.since) {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])
UNION ALL
SELECT f.to_user_id, greatest(f.since, b.since), f.from_user_id
FROM following f
JOIN following b ON b.from_user_id = f.to_user_id AND b.to_user_id = f.from_user_id
WHERE f.from_user_id = $7 AND f.to_user_id = ANY ($1) AND f.kind = 1 AND b.kind = 1
UNION ALL
SELECT f.from_user_id, greatest(f.since, b.since), f.to_user_id
FROM following f
JOIN following b ON b.from_user_id = f.to_user_id AND b.to_user_id = f.from_user_id
WHERE f.from_user_id = $7 AND f.to_user_id = ANY ((SELECT towards FROM own)::bigint[])
  AND $7 = ANY ($1) AND f.kind = 1 AND b.kind = 1
