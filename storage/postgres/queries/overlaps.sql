-- Intersections of lists: the entries of the shorter list are looked up in the other by primary key
-- (`version` keeps the probes off the lists' indexes, see relations.sql).

-- name: {followers,following}_followed
-- The users in the {followers,following} of each of $1 whom $2 follows: a probe for each edge of
-- the shorter list. $3 and $4 are the kinds that count in the lists, and among the follows of $2;
-- $5 is the maximum number of lookups. Each branch tests inside its subquery which list is shorter,
-- so that no plan can delay the test.
-- shard: $1[1], $2
WITH own AS MATERIALIZED (
    SELECT coalesce(sum(follows + whispers), 0) AS edges FROM following_count WHERE user_id = $2
), follow AS MATERIALIZED (
    SELECT f.to_user_id AS id FROM following f
    WHERE f.from_user_id = $2::bigint AND f.kind = ANY ($4::smallint[])
    ORDER BY f.since DESC, f.to_user_id DESC LIMIT $5::integer
), short AS MATERIALIZED (
    SELECT c.user_id, l.since, l.id
    FROM {follower,following}_count c
    CROSS JOIN LATERAL (
        SELECT l.since, l.{from,to}_user_id AS id FROM {follower,following} l
        WHERE l.{to,from}_user_id = c.user_id AND l.{to,from}_user_id = ANY ($1)
          AND l.kind = ANY ($3::smallint[]) AND c.follows + c.whispers < (SELECT edges FROM own)
        ORDER BY l.since DESC, l.{from,to}_user_id DESC LIMIT $5
    ) l
    WHERE c.user_id = ANY ($1)
)
SELECT c.user_id, p.since, p.id
FROM {follower,following}_count c
CROSS JOIN LATERAL (
    SELECT l.since, f.id
    FROM (SELECT id FROM follow WHERE c.follows + c.whispers >= (SELECT edges FROM own)) f
    CROSS JOIN LATERAL (
        SELECT l.since FROM {follower,following} l
        WHERE l.{to,from}_user_id = c.user_id AND l.{to,from}_user_id = ANY ($1)
          AND l.{from,to}_user_id = f.id
          AND l.kind = ANY ($3::smallint[]) AND l.version > 0
        LIMIT 1
    ) l
) p
WHERE c.user_id = ANY ($1::bigint[])
UNION ALL
SELECT s.user_id, s.since, s.id
FROM short s
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = $2 AND f.to_user_id = s.id AND f.kind = ANY ($4) AND f.version > 0
    LIMIT 1
) f

-- name: blocks_of_few
-- The blocks of the user $1 among the users $2, and of the users $3 to $1: a probe for each.
-- The cast keeps it off the lists' indexes, of which it would read all blocks.
-- shard: $1
SELECT u.user_id, true AS forward
FROM unnest($2::bigint[]) AS u (user_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = $1::bigint AND f.to_user_id = u.user_id AND f.kind::integer = 4 AND f.version > 0
    LIMIT 1
) f
UNION ALL
SELECT u.user_id, false
FROM unnest($3::bigint[]) AS u (user_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM follower r
    WHERE r.to_user_id = $1 AND r.from_user_id = u.user_id AND r.kind::integer = 4 AND r.version > 0
    LIMIT 1
) r

-- name: blocks_of_many
-- The same for many users: for each direction, one scan of the edges of $1 in the primary key looks
-- up an ordered array, and reads less of the index than the probes would.
-- shard: $1
SELECT f.to_user_id AS user_id, true AS forward FROM following f
WHERE f.from_user_id = $1::bigint AND f.to_user_id = ANY ($2::bigint[])
  AND f.kind::integer = 4 AND f.version > 0
UNION ALL
SELECT r.from_user_id, false FROM follower r
WHERE r.to_user_id = $1 AND r.from_user_id = ANY ($3::bigint[])
  AND r.kind::integer = 4 AND r.version > 0

-- name: blocked_counts
-- The number of users in each of the lists of $1 who have a block with $2, in either direction: two
-- ranges of at most $3 blocks, and a probe per block and list, or two for friends. $4: the list's
-- owner follows them; $5: they follow the owner.
-- shard: $1[1], $2
WITH block AS MATERIALIZED (
    (SELECT f.to_user_id AS id FROM following f
     WHERE f.from_user_id = $2::bigint AND f.kind = 4
     ORDER BY f.since DESC, f.to_user_id DESC LIMIT $3::integer)
    UNION
    (SELECT r.from_user_id FROM follower r
     WHERE r.to_user_id = $2 AND r.kind = 4
     ORDER BY r.since DESC, r.from_user_id DESC LIMIT $3)
)
SELECT u.user_id, count(*) AS blocked_count
FROM unnest($1::bigint[]) AS u (user_id)
CROSS JOIN block b
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = u.user_id AND f.from_user_id = ANY ($1) AND f.to_user_id = b.id
      AND f.kind = 1 AND f.version > 0
    UNION ALL
    SELECT 1 WHERE NOT $4
    LIMIT 1
) f
CROSS JOIN LATERAL (
    SELECT 1 FROM follower r
    WHERE r.to_user_id = u.user_id AND r.to_user_id = ANY ($1) AND r.from_user_id = b.id
      AND r.kind = 1 AND r.version > 0
    UNION ALL
    SELECT 1 WHERE NOT $5
    LIMIT 1
) r
WHERE NOT EXISTS ( -- absent accounts are left out already
    SELECT 1 FROM account a WHERE a.user_id = b.id AND a.state <> 0 AND a.erased_at IS NULL
)
GROUP BY u.user_id

-- name: notes
-- The request messages and the ends of mutes of the edges of the pairs ($1[i], $2[i]): a probe per
-- pair. $3: the distinct users of $1.
-- shard: $3[1]
SELECT f.from_user_id, f.to_user_id, f.message, f.muted_until
FROM unnest($1::bigint[], $2::bigint[]) AS pair (source, target)
CROSS JOIN LATERAL (
    SELECT f.from_user_id, f.to_user_id, f.message, f.muted_until
    FROM following f
    WHERE f.from_user_id = pair.source AND f.from_user_id = ANY ($3::bigint[])
      AND f.to_user_id = pair.target AND f.version > 0
      AND (f.message IS NOT NULL OR f.muted_until IS NOT NULL)
    OFFSET 0 -- keeps this a probe
) f

-- name: own_edges
-- The versions of the edges of the user $1 to the users $2, and when their mutes end: a probe per
-- user.
-- shard: $1
SELECT f.to_user_id, f.version, f.muted_until
FROM unnest($2::bigint[]) AS other (id)
CROSS JOIN LATERAL (
    SELECT f.to_user_id, f.version, f.muted_until FROM following f
    WHERE f.from_user_id = $1 AND f.to_user_id = other.id
    OFFSET 0 -- keeps this a probe
) f

-- name: ended
-- The latest $3 users to whom the user $1 has no edge, and has ended one, or changed a flag, after
-- $2 (milliseconds): one index range of rows of kind none.
-- shard: $1
SELECT to_user_id FROM following
WHERE from_user_id = $1 AND kind = 0 AND since > $2::bigint
ORDER BY since DESC, to_user_id DESC LIMIT $3
