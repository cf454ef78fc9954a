-- name: digest_forward
-- Of the next $4 forward rows after ($1, $2) of users up to $3: for each of 65,536 buckets of
-- pairs, the exclusive or of the hashes of the rows that are no tombstones. Also returns the last
-- key. The digests of both directions are equal if their rows are; an invalid row has a digest that
-- no reverse row has. One range, about 1 microsecond a row. hashint8extended folds `to_user_id` to
-- 32 bits, so its upper half is added; the low bits, which choose the bucket, stay.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT from_user_id, to_user_id, kind, flags, since, version,
           hashint8extended(to_user_id, from_user_id) # ((to_user_id >> 32) << 20) AS pair,
           least(from_user_id, to_user_id) <= 0 OR from_user_id = to_user_id
               OR since NOT BETWEEN 0 AND 281474976710655 OR kind NOT BETWEEN 0 AND 4 AS invalid
    FROM following
    WHERE (from_user_id, to_user_id) > ($1::bigint, $2::bigint) AND from_user_id <= $3::bigint
    ORDER BY from_user_id, to_user_id
    LIMIT $4
), bucket AS (
    SELECT (pair & 65535)::integer AS bucket,
           bit_xor(CASE WHEN invalid THEN pair ELSE hashint8extended(version, hashint8extended(since, pair # (kind * 65536 + flags))) END) AS digest
    FROM part WHERE kind <> 0 OR invalid
    GROUP BY 1
)
SELECT (SELECT count(*) FROM part) AS rows, e.from_user_id, e.to_user_id, d.buckets, d.digests
FROM (SELECT array_agg(bucket) AS buckets, array_agg(digest) AS digests FROM bucket) d
LEFT JOIN (
    SELECT from_user_id, to_user_id FROM part ORDER BY from_user_id DESC, to_user_id DESC LIMIT 1
) e ON true

-- name: digest_reverse
-- The same for the next $4 reverse rows after ($1, $2) of users up to $3.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT from_user_id, to_user_id, kind, flags, since, version,
           hashint8extended(to_user_id, from_user_id) # ((to_user_id >> 32) << 20) AS pair
    FROM follower
    WHERE (to_user_id, from_user_id) > ($1::bigint, $2::bigint) AND to_user_id <= $3::bigint
    ORDER BY to_user_id, from_user_id
    LIMIT $4
), bucket AS (
    SELECT (pair & 65535)::integer AS bucket,
           bit_xor(hashint8extended(version, hashint8extended(since, pair # (kind * 65536 + flags)))) AS digest
    FROM part WHERE kind <> 0
    GROUP BY 1
)
SELECT (SELECT count(*) FROM part) AS rows, e.from_user_id, e.to_user_id, d.buckets, d.digests
FROM (SELECT array_agg(bucket) AS buckets, array_agg(digest) AS digests FROM bucket) d
LEFT JOIN (
    SELECT from_user_id, to_user_id FROM part ORDER BY to_user_id DESC, from_user_id DESC LIMIT 1
) e ON true

-- name: compare_forward
-- Of the next $4 forward rows after ($1, $2) of users up to $3, compares those in the buckets of
-- the bitmap $5, each with one probe of its reverse row. Returns those that differ, and the last
-- key, all in one snapshot. A reverse row lags while a change is pending; a tombstone equals a
-- missing row.
-- shard: plain
WITH part AS MATERIALIZED (
    SELECT from_user_id, to_user_id, kind, ARRAY[kind, flags, since, version] AS edge,
           least(from_user_id, to_user_id) <= 0 OR from_user_id = to_user_id
               OR since NOT BETWEEN 0 AND 281474976710655 OR kind NOT BETWEEN 0 AND 4 AS invalid
    FROM following
    WHERE (from_user_id, to_user_id) > ($1::bigint, $2::bigint) AND from_user_id <= $3::bigint
    ORDER BY from_user_id, to_user_id
    LIMIT $4
), odd AS (
    SELECT f.*, r.edge AS reverse_row
    FROM (
        SELECT * FROM part
        WHERE get_bit($5::bytea, (hashint8extended(to_user_id, from_user_id) & 65535)::integer) = 1
        ORDER BY to_user_id, from_user_id -- consecutive probes are close in the index
    ) f
    LEFT JOIN LATERAL (
        SELECT r.kind, ARRAY[r.kind, r.flags, r.since, r.version] AS edge
        FROM follower r
        WHERE r.to_user_id = f.to_user_id AND r.from_user_id = f.from_user_id
        OFFSET 0 -- keeps this a probe: a hash join would read the whole graph
    ) r ON true
    WHERE f.invalid
       OR ((f.kind <> 0 OR coalesce(r.kind, 0) <> 0) AND f.edge IS DISTINCT FROM r.edge)
)
SELECT 'edge' AS what, from_user_id, to_user_id, edge, reverse_row, invalid,
       EXISTS (
           SELECT 1 FROM outbox o
           WHERE o.from_user_id = odd.from_user_id AND o.to_user_id = odd.to_user_id
             AND NOT o.applied
       ) AS pending, 0 AS rows
FROM odd
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY from_user_id DESC, to_user_id DESC LIMIT 1)

-- name: compare_forward_on_citus
-- The same, but the reverse rows and the pending changes are read after the forward rows, so a row
-- that has changed meanwhile is returned too: see `recheck_forward`.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT from_user_id, to_user_id, kind, ARRAY[kind, flags, since, version] AS edge,
           least(from_user_id, to_user_id) <= 0 OR from_user_id = to_user_id
               OR since NOT BETWEEN 0 AND 281474976710655 OR kind NOT BETWEEN 0 AND 4 AS invalid
    FROM following
    WHERE (from_user_id, to_user_id) > ($1::bigint, $2::bigint) AND from_user_id <= $3::bigint
    ORDER BY from_user_id, to_user_id
    LIMIT $4
), chosen AS MATERIALIZED (
    SELECT * FROM part
    WHERE get_bit($5::bytea, (hashint8extended(to_user_id, from_user_id) & 65535)::integer) = 1
), reverse_row AS MATERIALIZED (
    SELECT r.from_user_id, r.to_user_id, r.kind, ARRAY[r.kind, r.flags, r.since, r.version] AS edge
    FROM chosen f
    JOIN follower r ON r.to_user_id = f.to_user_id AND r.from_user_id = f.from_user_id
)
SELECT 'edge' AS what, from_user_id, to_user_id, f.edge, r.edge AS reverse_row, invalid,
       false AS pending, 0 AS rows
FROM chosen f LEFT JOIN reverse_row r USING (from_user_id, to_user_id)
WHERE f.invalid
   OR ((f.kind <> 0 OR coalesce(r.kind, 0) <> 0) AND f.edge IS DISTINCT FROM r.edge)
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY from_user_id DESC, to_user_id DESC LIMIT 1)

-- name: compare_reverse
-- The same as compare_forward for the next $4 reverse rows after ($1, $2) of users up to $3. It
-- returns only those without a forward row, because compare_forward has compared the others.
-- shard: plain
WITH part AS MATERIALIZED (
    SELECT to_user_id, from_user_id, kind, ARRAY[kind, flags, since, version] AS edge
    FROM follower
    WHERE (to_user_id, from_user_id) > ($1::bigint, $2::bigint) AND to_user_id <= $3::bigint
    ORDER BY to_user_id, from_user_id
    LIMIT $4
), odd AS (
    SELECT r.*
    FROM (
        SELECT * FROM part
        WHERE kind <> 0
          AND get_bit($5::bytea, (hashint8extended(to_user_id, from_user_id) & 65535)::integer) = 1
        ORDER BY from_user_id, to_user_id
    ) r
    LEFT JOIN LATERAL (
        SELECT f.kind FROM following f
        WHERE f.from_user_id = r.from_user_id AND f.to_user_id = r.to_user_id
        OFFSET 0
    ) f ON true
    WHERE f.kind IS NULL
)
SELECT 'edge' AS what, from_user_id, to_user_id, NULL::bigint[] AS edge, edge AS reverse_row,
       false AS invalid,
       EXISTS (
           SELECT 1 FROM outbox o
           WHERE o.from_user_id = odd.from_user_id AND o.to_user_id = odd.to_user_id
             AND NOT o.applied
       ) AS pending, 0 AS rows
FROM odd
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY to_user_id DESC, from_user_id DESC LIMIT 1)

-- name: compare_reverse_on_citus
-- The same, but the forward rows are read after the reverse rows.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT to_user_id, from_user_id, kind, ARRAY[kind, flags, since, version] AS edge
    FROM follower
    WHERE (to_user_id, from_user_id) > ($1::bigint, $2::bigint) AND to_user_id <= $3::bigint
    ORDER BY to_user_id, from_user_id
    LIMIT $4
), chosen AS MATERIALIZED (
    SELECT * FROM part
    WHERE kind <> 0
      AND get_bit($5::bytea, (hashint8extended(to_user_id, from_user_id) & 65535)::integer) = 1
), forward AS MATERIALIZED (
    SELECT f.from_user_id, f.to_user_id
    FROM chosen r
    JOIN following f ON f.from_user_id = r.from_user_id AND f.to_user_id = r.to_user_id
)
SELECT 'edge' AS what, r.from_user_id, r.to_user_id, NULL::bigint[] AS edge, r.edge AS reverse_row,
       false AS invalid, false AS pending, 0 AS rows
FROM chosen r LEFT JOIN forward f USING (from_user_id, to_user_id)
WHERE f.to_user_id IS NULL
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY to_user_id DESC, from_user_id DESC LIMIT 1)

-- name: recheck_forward
-- The forward rows from the users $1 to the users $2, and whether each pair has a pending change,
-- in one snapshot of each user. A row without a kind is a pending change without a forward row.
-- shard: $1[]
SELECT from_user_id, to_user_id, max(kind) AS kind, max(flags) AS flags, max(since) AS since,
       max(version) AS version, bool_or(is_pending) AS pending
FROM (
    SELECT from_user_id, to_user_id, kind, flags, since, version, false AS is_pending
    FROM following WHERE from_user_id = ANY ($1::bigint[]) AND to_user_id = ANY ($2::bigint[])
    UNION ALL
    SELECT from_user_id, to_user_id, NULL, NULL, NULL, NULL, true
    FROM outbox
    WHERE from_user_id = ANY ($1::bigint[]) AND to_user_id = ANY ($2::bigint[]) AND NOT applied
) own
GROUP BY from_user_id, to_user_id

-- name: recheck_reverse
-- The reverse rows to the users $2 from the users $1.
-- shard: $2[]
SELECT from_user_id, to_user_id, kind, flags, since, version
FROM follower WHERE to_user_id = ANY ($2::bigint[]) AND from_user_id = ANY ($1::bigint[])

-- name: suspect_counts
-- The users after $1 and up to $2 whose stored counts may differ from their rows. It counts friends
-- by the reverse rows, which are on the same shard as the forward rows, so it may also return a
-- user with a pending change: `compare_counts` decides. Four ranges and a join of two of them.
-- shard: fan-out
SELECT user_id
FROM (
    SELECT from_user_id AS user_id, count(*) FILTER (WHERE kind = 1) AS follows, 0::bigint AS followers,
           0::bigint AS friends, count(*) FILTER (WHERE kind = 2) AS whispers,
           0::bigint AS whispered, count(*) FILTER (WHERE kind = 3) AS outgoing,
           0::bigint AS incoming, count(*) FILTER (WHERE kind = 4) AS blocks,
           0::bigint AS blocked, count(*) FILTER (WHERE kind IN (1, 2) AND flags & 1 <> 0) AS close,
           count(*) FILTER (WHERE flags & 2 <> 0) AS mutes, 0::bigint AS absent_follows,
           0::bigint AS absent_whispers, 0::bigint AS absent_requests
    FROM following
    WHERE from_user_id > $1::bigint AND from_user_id <= $2::bigint AND (kind <> 0 OR flags <> 0)
    GROUP BY from_user_id
    UNION ALL
    SELECT r.to_user_id, 0, count(*) FILTER (WHERE r.kind = 1), 0, 0,
           count(*) FILTER (WHERE r.kind = 2), 0, count(*) FILTER (WHERE r.kind = 3), 0,
           count(*) FILTER (WHERE r.kind = 4), 0, 0,
           count(*) FILTER (WHERE r.kind = 1 AND gone.is_counted),
           count(*) FILTER (WHERE r.kind = 2 AND gone.is_counted),
           count(*) FILTER (WHERE r.kind = 3 AND gone.is_counted)
    FROM follower r LEFT JOIN account gone ON gone.user_id = r.from_user_id AND gone.is_counted
    WHERE r.to_user_id > $1::bigint AND r.to_user_id <= $2::bigint AND r.kind <> 0
    GROUP BY r.to_user_id
    UNION ALL
    SELECT f.from_user_id, 0, 0, count(*), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM following f
    JOIN follower r ON r.to_user_id = f.from_user_id AND r.from_user_id = f.to_user_id
    WHERE f.from_user_id > $1::bigint AND f.from_user_id <= $2::bigint AND f.kind = 1
      AND r.to_user_id > $1::bigint AND r.to_user_id <= $2::bigint AND r.kind = 1
    GROUP BY f.from_user_id
    UNION ALL
    SELECT user_id, -follows, 0, -friends, -whispers, 0, -requests, 0, -blocks, 0, -specials, -mutes,
           0, 0, 0
    FROM following_count WHERE user_id > $1::bigint AND user_id <= $2::bigint
    UNION ALL
    SELECT user_id, 0, -follows, -friends, 0, -whispers, 0, -requests, 0, -blocks, 0, 0,
           -absent_follows, -absent_whispers, -absent_requests
    FROM follower_count WHERE user_id > $1::bigint AND user_id <= $2::bigint
) each
GROUP BY user_id
HAVING sum(follows) <> 0 OR sum(followers) <> 0 OR sum(friends) <> 0 OR sum(whispers) <> 0
    OR sum(whispered) <> 0 OR sum(outgoing) <> 0 OR sum(incoming) <> 0 OR sum(blocks) <> 0
    OR sum(blocked) <> 0 OR sum(close) <> 0 OR sum(mutes) <> 0 OR sum(absent_follows) <> 0
    OR sum(absent_whispers) <> 0 OR sum(absent_requests) <> 0

-- name: compare_counts
-- The stored and computed counts of the users $1: one range per user and direction, a probe for
-- each follow, and one of a small index for each follower. Pending friendships are part of the sum.
-- shard: plain
WITH pending AS MATERIALIZED (
    SELECT to_user_id, sum(friends) AS friends
    FROM outbox WHERE NOT applied AND friends <> 0 AND to_user_id = ANY ($1::bigint[])
    GROUP BY to_user_id
)
SELECT u.user_id,
       coalesce(a.follows, 0), f.follows,
       coalesce(b.follows, 0), r.follows,
       coalesce(a.friends, 0) + coalesce(b.friends, 0) + coalesce(p.friends, 0)::bigint, f.friends,
       coalesce(a.whispers, 0), f.whispers,
       coalesce(b.whispers, 0), r.whispers,
       coalesce(a.requests, 0), f.requests,
       coalesce(b.requests, 0), r.requests,
       coalesce(a.blocks, 0), f.blocks,
       coalesce(b.blocks, 0), r.blocks,
       coalesce(a.specials, 0), f.close_follows,
       coalesce(a.mutes, 0), f.mutes,
       coalesce(b.absent_follows, 0), r.absent_follows,
       coalesce(b.absent_whispers, 0), r.absent_whispers,
       coalesce(b.absent_requests, 0), r.absent_requests
FROM unnest($1::bigint[]) AS u (user_id)
LEFT JOIN pending p ON p.to_user_id = u.user_id
LEFT JOIN LATERAL (
    SELECT * FROM following_count c WHERE c.user_id = u.user_id OFFSET 0
) a ON true
LEFT JOIN LATERAL (
    SELECT * FROM follower_count c WHERE c.user_id = u.user_id OFFSET 0
) b ON true
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE f.kind = 1) AS follows, count(back.kind) AS friends,
           count(*) FILTER (WHERE f.kind = 2) AS whispers,
           count(*) FILTER (WHERE f.kind = 3) AS requests,
           count(*) FILTER (WHERE f.kind = 4) AS blocks,
           count(*) FILTER (WHERE f.kind IN (1, 2) AND f.flags & 1 <> 0) AS close_follows,
           count(*) FILTER (WHERE f.flags & 2 <> 0) AS mutes
    FROM following f
    LEFT JOIN LATERAL (
        SELECT back.kind FROM following back
        WHERE f.kind = 1 AND back.from_user_id = f.to_user_id AND back.to_user_id = f.from_user_id
          AND back.kind = 1
        OFFSET 0
    ) back ON true
    WHERE f.from_user_id = u.user_id AND (f.kind <> 0 OR f.flags <> 0)
) f
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE r.kind = 1) AS follows,
           count(*) FILTER (WHERE r.kind = 2) AS whispers,
           count(*) FILTER (WHERE r.kind = 3) AS requests,
           count(*) FILTER (WHERE r.kind = 4) AS blocks,
           count(*) FILTER (WHERE r.kind = 1 AND gone.is_counted) AS absent_follows,
           count(*) FILTER (WHERE r.kind = 2 AND gone.is_counted) AS absent_whispers,
           count(*) FILTER (WHERE r.kind = 3 AND gone.is_counted) AS absent_requests
    FROM follower r
    LEFT JOIN LATERAL (
        SELECT g.is_counted FROM account g WHERE g.user_id = r.from_user_id AND g.is_counted OFFSET 0
    ) gone ON true
    WHERE r.to_user_id = u.user_id AND r.kind <> 0
) r

-- name: compare_counts_on_citus
-- The same in several snapshots, so a count that changes meanwhile may differ. One snapshot has a
-- user's own rows and counts. Others have the user's pending friendships, and the rows of the users
-- whom the user follows.
-- shard: fan-out
WITH own AS MATERIALIZED (
    SELECT user_id,
           sum(stored_follows) AS stored_follows, sum(follows) AS follows,
           sum(stored_followers) AS stored_followers, sum(followers) AS followers,
           sum(stored_friends) AS stored_friends,
           sum(stored_whispers) AS stored_whispers, sum(whispers) AS whispers,
           sum(stored_whispered) AS stored_whispered, sum(whispered) AS whispered,
           sum(stored_outgoing) AS stored_outgoing, sum(outgoing) AS outgoing,
           sum(stored_incoming) AS stored_incoming, sum(incoming) AS incoming,
           sum(stored_blocks) AS stored_blocks, sum(blocks) AS blocks,
           sum(stored_blocked) AS stored_blocked, sum(blocked) AS blocked,
           sum(stored_close) AS stored_close, sum(close) AS close,
           sum(stored_mutes) AS stored_mutes, sum(mutes) AS mutes,
           sum(stored_absent_follows) AS stored_absent_follows,
           sum(absent_follows) AS absent_follows,
           sum(stored_absent_whispers) AS stored_absent_whispers,
           sum(absent_whispers) AS absent_whispers,
           sum(stored_absent_requests) AS stored_absent_requests,
           sum(absent_requests) AS absent_requests
    FROM (
        SELECT from_user_id AS user_id, 0::bigint AS stored_follows, count(*) FILTER (WHERE kind =
               1) AS follows, 0::bigint AS stored_followers, 0::bigint AS followers, 0::bigint AS
               stored_friends, 0::bigint AS stored_whispers, count(*) FILTER (WHERE kind = 2) AS
               whispers, 0::bigint AS stored_whispered, 0::bigint AS whispered, 0::bigint AS
               stored_outgoing, count(*) FILTER (WHERE kind = 3) AS outgoing, 0::bigint AS
               stored_incoming, 0::bigint AS incoming, 0::bigint AS stored_blocks, count(*) FILTER
               (WHERE kind = 4) AS blocks, 0::bigint AS stored_blocked, 0::bigint AS blocked,
               0::bigint AS stored_close, count(*) FILTER (WHERE kind IN (1, 2) AND flags & 1 <> 0)
               AS close, 0::bigint AS stored_mutes, count(*) FILTER (WHERE flags & 2 <> 0) AS mutes,
               0::bigint AS stored_absent_follows, 0::bigint AS absent_follows, 0::bigint AS
               stored_absent_whispers, 0::bigint AS absent_whispers, 0::bigint AS
               stored_absent_requests, 0::bigint AS absent_requests
        FROM following
        WHERE from_user_id = ANY ($1::bigint[]) AND (kind <> 0 OR flags <> 0)
        GROUP BY from_user_id
        UNION ALL
        SELECT r.to_user_id, 0, 0, 0, count(*) FILTER (WHERE r.kind = 1), 0, 0, 0, 0, count(*)
               FILTER (WHERE r.kind = 2), 0, 0, 0, count(*) FILTER (WHERE r.kind = 3), 0, 0, 0,
               count(*) FILTER (WHERE r.kind = 4), 0, 0, 0, 0, 0, count(*) FILTER (WHERE r.kind = 1
               AND gone.is_counted), 0, count(*) FILTER (WHERE r.kind = 2 AND gone.is_counted), 0,
               count(*) FILTER (WHERE r.kind = 3 AND gone.is_counted)
        FROM follower r LEFT JOIN account gone ON gone.user_id = r.from_user_id AND gone.is_counted
        WHERE r.to_user_id = ANY ($1::bigint[]) AND r.kind <> 0
        GROUP BY r.to_user_id
        UNION ALL
        SELECT user_id, follows, 0, 0, 0, friends, whispers, 0, 0, 0, requests, 0, 0, 0, blocks, 0,
               0, 0, specials, 0, mutes, 0, 0, 0, 0, 0, 0, 0
        FROM following_count WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id, 0, 0, follows, 0, friends, 0, 0, whispers, 0, 0, 0, requests, 0, 0, 0,
               blocks, 0, 0, 0, 0, 0, absent_follows, 0, absent_whispers, 0, absent_requests, 0
        FROM follower_count WHERE user_id = ANY ($1::bigint[])
    ) each
    GROUP BY user_id
), pending AS MATERIALIZED (
    SELECT to_user_id, sum(friends) AS friends
    FROM outbox WHERE NOT applied AND friends <> 0 AND to_user_id = ANY ($1::bigint[])
    GROUP BY to_user_id
), follow AS MATERIALIZED (
    SELECT from_user_id, to_user_id FROM following
    WHERE from_user_id = ANY ($1::bigint[]) AND kind = 1
), friend AS MATERIALIZED (
    SELECT back.to_user_id, back.from_user_id
    FROM follow f
    JOIN following back ON back.from_user_id = f.to_user_id AND back.to_user_id = f.from_user_id
    WHERE back.kind = 1
), friends AS MATERIALIZED (
    SELECT to_user_id, count(*) AS friends FROM friend GROUP BY to_user_id
)
SELECT u.user_id,
       coalesce(o.stored_follows, 0)::bigint, coalesce(o.follows, 0)::bigint,
       coalesce(o.stored_followers, 0)::bigint, coalesce(o.followers, 0)::bigint,
       (coalesce(o.stored_friends, 0) + coalesce(p.friends, 0))::bigint,
       coalesce(f.friends, 0),
       coalesce(o.stored_whispers, 0)::bigint, coalesce(o.whispers, 0)::bigint,
       coalesce(o.stored_whispered, 0)::bigint, coalesce(o.whispered, 0)::bigint,
       coalesce(o.stored_outgoing, 0)::bigint, coalesce(o.outgoing, 0)::bigint,
       coalesce(o.stored_incoming, 0)::bigint, coalesce(o.incoming, 0)::bigint,
       coalesce(o.stored_blocks, 0)::bigint, coalesce(o.blocks, 0)::bigint,
       coalesce(o.stored_blocked, 0)::bigint, coalesce(o.blocked, 0)::bigint,
       coalesce(o.stored_close, 0)::bigint, coalesce(o.close, 0)::bigint,
       coalesce(o.stored_mutes, 0)::bigint, coalesce(o.mutes, 0)::bigint,
       coalesce(o.stored_absent_follows, 0)::bigint, coalesce(o.absent_follows, 0)::bigint,
       coalesce(o.stored_absent_whispers, 0)::bigint, coalesce(o.absent_whispers, 0)::bigint,
       coalesce(o.stored_absent_requests, 0)::bigint, coalesce(o.absent_requests, 0)::bigint
FROM unnest($1::bigint[]) AS u (user_id)
LEFT JOIN own o ON o.user_id = u.user_id
LEFT JOIN pending p ON p.to_user_id = u.user_id
LEFT JOIN friends f ON f.to_user_id = u.user_id

-- name: next_users
-- The next $2 users after $1 who have or had an edge: two index ranges.
-- shard: fan-out
SELECT user_id
FROM (
    (SELECT user_id FROM following_count WHERE user_id > $1 ORDER BY user_id LIMIT $2)
    UNION
    (SELECT user_id FROM follower_count WHERE user_id > $1 ORDER BY user_id LIMIT $2)
) u
ORDER BY user_id LIMIT $2

-- name: next_{forward,reverse}
-- The last of the next users after $1, at most $2, who together have at most $3 rows by their
-- counts; at least the next user. On Citus, each shard returns as many rows as the LIMIT of a
-- statement allows, so the statement must read few users.
-- shard: fan-out
SELECT max(user_id) AS last
FROM (
    SELECT user_id, row_number() OVER so_far AS place, sum(edges) OVER so_far AS edges
    FROM (
        SELECT user_id, follows + whispers + requests + blocks AS edges
        FROM {following,follower}_count WHERE user_id > $1 ORDER BY user_id LIMIT $2
    ) n
    WINDOW so_far AS (ORDER BY user_id)
) n
WHERE place = 1 OR edges <= $3::bigint

-- name: next_erased
-- The next $2 erased accounts after $1, and whether they still have settings.
-- shard: local
SELECT user_id,
       (protected, following_audience, followers_audience) <> (false, 0, 0)
           OR following_limit IS NOT NULL AS has_settings
FROM account
WHERE erased_at IS NOT NULL AND user_id > $1
ORDER BY user_id LIMIT $2

-- name: find_unerased
-- Those of the erased accounts $1 that have remaining data. Reads index ranges that are usually
-- empty: for the affinities, receipts, notes, pins and groups of others, one in each partition.
-- shard: fan-out
WITH own AS MATERIALIZED (
    SELECT user_id
    FROM (
        SELECT from_user_id AS user_id FROM following
        WHERE from_user_id = ANY ($1::bigint[]) AND kind = ANY (ARRAY[1, 2, 3, 4]::smallint[])
        UNION ALL
        SELECT to_user_id FROM follower
        WHERE to_user_id = ANY ($1::bigint[]) AND kind = ANY (ARRAY[1, 2, 3, 4]::smallint[])
        UNION ALL
        SELECT from_user_id FROM following
        WHERE from_user_id = ANY ($1::bigint[]) AND kind = 0 AND flags <> 0
        UNION ALL
        SELECT to_user_id FROM follower
        WHERE to_user_id = ANY ($1::bigint[]) AND kind = 0 AND flags <> 0
        UNION ALL
        SELECT user_id FROM following_count WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM follower_count WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM affinity WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM affinity_count WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT actor_id FROM receipt WHERE actor_id = ANY ($1::bigint[])
        UNION ALL
        SELECT author_id FROM private_note WHERE author_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM follow_group WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM follow_group_member WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id FROM pinned_following WHERE user_id = ANY ($1::bigint[])
    ) each
    GROUP BY user_id
), ranked AS MATERIALIZED (
    SELECT DISTINCT other_id FROM affinity WHERE other_id = ANY ($1::bigint[])
), mentioned AS MATERIALIZED (
    SELECT DISTINCT other_id FROM receipt
    WHERE other_id = ANY ($1::bigint[]) AND messages IS NOT NULL
), noted AS MATERIALIZED (
    SELECT DISTINCT other_id FROM private_note WHERE other_id = ANY ($1::bigint[])
), grouped AS MATERIALIZED (
    SELECT DISTINCT target_id FROM follow_group_member WHERE target_id = ANY ($1::bigint[])
), pinned AS MATERIALIZED (
    SELECT DISTINCT other_id FROM pinned_following WHERE other_id = ANY ($1::bigint[])
)
SELECT user_id FROM own
UNION SELECT other_id FROM ranked
UNION SELECT other_id FROM mentioned
UNION SELECT other_id FROM noted
UNION SELECT target_id FROM grouped
UNION SELECT other_id FROM pinned

-- name: find_lost_members
-- The next $3 members of groups after the user $1 and the member $2, and whether their group does
-- not exist: one range, and a probe for each.
-- shard: fan-out
SELECT m.user_id, m.target_id, m.group_id, NOT EXISTS (
           SELECT 1 FROM follow_group g WHERE g.user_id = m.user_id AND g.group_id = m.group_id
       ) AS is_lost
FROM follow_group_member m
WHERE (m.user_id, m.target_id) > ($1::bigint, $2::bigint)
ORDER BY m.user_id, m.target_id, m.group_id
LIMIT $3
