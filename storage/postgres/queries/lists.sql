-- Pages of many users' lists in one statement. They start from the count tables, which have a row
-- for every user with a list. Citus runs this form on the shards of the users, but not a LATERAL
-- over `unnest`. Each table needs the condition `= ANY ($1)`: Citus excludes no shard by a join
-- alone.
--
-- $2, $3 and $4, $5 are the positions between which the window lies; $6 is the window's size plus
-- one.

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
-- One index range of $6 entries per user, of the edges of the kind $7.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1) AND f.kind = $7::smallint
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: following_and_whispers_{older,newer}
-- Follows and whispers: one index range of each kind per user, and their heads merged.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT e.since, e.id
    FROM (
        (
            SELECT f.since, f.to_user_id AS id
            FROM following f
            WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1) AND f.kind = 1
              AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
              AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
            ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
            LIMIT $6
        )
        UNION ALL
        (
            SELECT f.since, f.to_user_id AS id
            FROM following f
            WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1) AND f.kind = 2
              AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
              AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
            ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
            LIMIT $6
        )
    ) e
    ORDER BY e.since {DESC,ASC}, e.id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: followers_{older,newer}
-- The same for the followers, without the user $8 (0 for none).
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM follower_count c
CROSS JOIN LATERAL (
    SELECT r.since, r.from_user_id AS id
    FROM follower r
    WHERE r.to_user_id = c.user_id AND r.to_user_id = ANY ($1) AND r.kind = $7::smallint AND r.from_user_id <> $8::bigint
      AND (r.since, r.from_user_id) < ($2::bigint, $3::bigint)
      AND (r.since, r.from_user_id) > ($4::bigint, $5::bigint)
    ORDER BY r.since {DESC,ASC}, r.from_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: followers_and_whispers_{older,newer}
-- Follows and whispers: one index range of each kind per user, and their heads merged.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM follower_count c
CROSS JOIN LATERAL (
    SELECT e.since, e.id
    FROM (
        (
            SELECT r.since, r.from_user_id AS id
            FROM follower r
            WHERE r.to_user_id = c.user_id AND r.to_user_id = ANY ($1) AND r.kind = 1
              AND (r.since, r.from_user_id) < ($2::bigint, $3::bigint)
              AND (r.since, r.from_user_id) > ($4::bigint, $5::bigint)
            ORDER BY r.since {DESC,ASC}, r.from_user_id {DESC,ASC}
            LIMIT $6
        )
        UNION ALL
        (
            SELECT r.since, r.from_user_id AS id
            FROM follower r
            WHERE r.to_user_id = c.user_id AND r.to_user_id = ANY ($1) AND r.kind = 2
              AND (r.since, r.from_user_id) < ($2::bigint, $3::bigint)
              AND (r.since, r.from_user_id) > ($4::bigint, $5::bigint)
            ORDER BY r.since {DESC,ASC}, r.from_user_id {DESC,ASC}
            LIMIT $6
        )
    ) e
    ORDER BY e.since {DESC,ASC}, e.id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: close_follows_{older,newer}
-- One range of a small index per user, which holds only close follows.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1)
      AND f.flags & 1 <> 0 AND f.kind IN (1, 2)
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: muted_{older,newer}
-- One range of a small index per user, which holds all mutes, with or without a follow.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1)
      AND f.flags & 2 <> 0
      AND (f.since, f.to_user_id) < ($2::bigint, $3::bigint)
      AND (f.since, f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY f.since {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: friends_{older,newer}
-- Every follow of a user probes one reverse row: bounded by the following limit. The LIMIT and
-- `version` keep it a probe: a plain join would start with all followers of a star, and only the
-- primary key's index is left if `version` is needed (see relations.sql). Leaves out the
-- friendships between the user $7 (0 for none) and the users $8.
-- shard: $1[]
SELECT c.user_id, p.since, p.id
FROM following_count c
CROSS JOIN LATERAL (
    SELECT greatest(f.since, r.since) AS since, f.to_user_id AS id
    FROM following f
    CROSS JOIN LATERAL (
        SELECT r.since FROM follower r
        WHERE r.to_user_id = f.from_user_id AND r.to_user_id = ANY ($1)
          AND r.from_user_id = f.to_user_id AND r.kind = 1 AND r.version > 0
        LIMIT 1
    ) r
    WHERE f.from_user_id = c.user_id AND f.from_user_id = ANY ($1) AND f.kind = 1
      AND NOT (f.to_user_id = $7::bigint AND c.user_id = ANY ($8::bigint[]))
      AND NOT (c.user_id = $7 AND f.to_user_id = ANY ($8))
      AND (greatest(f.since, r.since), f.to_user_id) < ($2::bigint, $3::bigint)
      AND (greatest(f.since, r.since), f.to_user_id) > ($4::bigint, $5::bigint)
    ORDER BY greatest(f.since, r.since) {DESC,ASC}, f.to_user_id {DESC,ASC}
    LIMIT $6
) p
WHERE c.user_id = ANY ($1::bigint[])

-- name: follows_among
-- The users $2 whom $1 follows by an edge of the kind $3: a probe for each.
-- shard: $1
SELECT f.to_user_id AS id, f.since FROM following f
WHERE f.from_user_id = $1 AND f.to_user_id = ANY ($2::bigint[]) AND f.kind = $3 AND f.version > 0

-- name: followers_among
-- The users $2 who follow $1, from their own rows: a probe for each.
-- shard: $2[]
SELECT f.from_user_id AS id, f.since FROM following f
WHERE f.from_user_id = ANY ($2::bigint[]) AND f.to_user_id = $1 AND f.kind = 1 AND f.version > 0

-- name: pending_targets
-- The targets of the changes of the user $1 in the outbox.
-- shard: $1
SELECT DISTINCT to_user_id FROM outbox WHERE from_user_id = $1
