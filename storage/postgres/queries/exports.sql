-- Long lists of one user, for services: one range of an index at a time, newest first. The user is
-- $1, the kind of the edges $2, the position before the range $3, $4, and its size $5.
--
-- One value of (8, 8) bytes per entry, because a row for each entry costs several times as much.

-- name: following
-- shard: $1
SELECT string_agg(int8send(p.since) || int8send(p.id), '')
FROM (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = $1 AND f.kind = $2
      AND (f.since, f.to_user_id) < ($3::bigint, $4::bigint)
    ORDER BY f.since DESC, f.to_user_id DESC
    LIMIT $5
) p

-- name: {followers,notified_followers}
-- {All followers,The followers who asked to be notified: a range of a partial index of these}.
-- shard: $1
SELECT string_agg(int8send(p.since) || int8send(p.id), '')
FROM (
    SELECT r.since, r.from_user_id AS id
    FROM follower r
    WHERE r.to_user_id = $1 AND r.kind = $2 {,AND r.flags & 16 <> 0}
      AND (r.since, r.from_user_id) < ($3::bigint, $4::bigint)
    ORDER BY r.since DESC, r.from_user_id DESC
    LIMIT $5
) p

-- name: friends
-- A range of the user's follows, each with the date of the reverse follow, or -1: (8, 8, 8) bytes.
-- One probe of the primary key per follow: LIMIT and `version` keep it one (see lists.sql). The
-- kind is compared afterwards: a generic plan that looks for it too may read all followers of a
-- star. An aggregate over a join has no order of its own.
-- shard: $1
SELECT string_agg(int8send(p.since) || int8send(p.id) || int8send(coalesce(r.since, -1)), ''
                  ORDER BY p.since DESC, p.id DESC)
FROM (
    SELECT f.since, f.to_user_id AS id
    FROM following f
    WHERE f.from_user_id = $1 AND f.kind = $2
      AND (f.since, f.to_user_id) < ($3::bigint, $4::bigint)
    ORDER BY f.since DESC, f.to_user_id DESC
    LIMIT $5
) p
LEFT JOIN LATERAL (
    SELECT r.since, r.kind FROM follower r
    WHERE r.to_user_id = $1 AND r.from_user_id = p.id AND r.version > 0
    LIMIT 1
) r ON r.kind = $2
