-- name: compare_forward
-- The next $3 forward rows after ($1, $2), each with one probe of its reverse row. Returns those
-- that differ, users without a count row, and the last key, all in one snapshot. A reverse row lags
-- while a change is pending; a tombstone equals a missing row.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT from_user_id, to_user_id, kind, ARRAY[kind, flags, since, version] AS edge,
           kind <> 0 OR flags & 2 <> 0 AS counts,
           least(from_user_id, to_user_id) <= 0 OR from_user_id = to_user_id
               OR since NOT BETWEEN 0 AND 281474976710655 OR kind NOT BETWEEN 0 AND 4 AS invalid
    FROM following
    WHERE (from_user_id, to_user_id) > ($1::bigint, $2::bigint)
    ORDER BY from_user_id, to_user_id
    LIMIT $3
), odd AS (
    SELECT f.*, r.edge AS mirror
    FROM part f
    LEFT JOIN LATERAL (
        SELECT r.kind, ARRAY[r.kind, r.flags, r.since, r.version] AS edge
        FROM follower r
        WHERE r.to_user_id = f.to_user_id AND r.from_user_id = f.from_user_id
        OFFSET 0 -- keeps this a probe: a hash join would read the whole graph
    ) r ON true
    WHERE f.invalid
       OR ((f.kind <> 0 OR coalesce(r.kind, 0) <> 0) AND f.edge IS DISTINCT FROM r.edge)
)
SELECT 'edge' AS what, from_user_id, to_user_id, edge, mirror, invalid,
       EXISTS (
           SELECT 1 FROM outbox o
           WHERE o.from_user_id = odd.from_user_id AND o.to_user_id = odd.to_user_id
             AND NOT o.applied
       ) AS pending, 0 AS rows
FROM odd
UNION ALL
SELECT 'user', from_user_id, 0, NULL, NULL, false, false, 0
FROM (SELECT DISTINCT from_user_id FROM part WHERE counts) u
WHERE NOT EXISTS (SELECT 1 FROM following_count c WHERE c.user_id = u.from_user_id)
  AND NOT EXISTS (SELECT 1 FROM follower_count c WHERE c.user_id = u.from_user_id)
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY from_user_id DESC, to_user_id DESC LIMIT 1)

-- name: compare_reverse
-- The same for the next $3 reverse rows after ($1, $2). It returns only those without a forward
-- row, because compare_forward has compared the others.
-- shard: fan-out
WITH part AS MATERIALIZED (
    SELECT to_user_id, from_user_id, kind, ARRAY[kind, flags, since, version] AS edge
    FROM follower
    WHERE (to_user_id, from_user_id) > ($1::bigint, $2::bigint)
    ORDER BY to_user_id, from_user_id
    LIMIT $3
), odd AS (
    SELECT r.*
    FROM part r
    LEFT JOIN LATERAL (
        SELECT f.kind FROM following f
        WHERE f.from_user_id = r.from_user_id AND f.to_user_id = r.to_user_id
        OFFSET 0
    ) f ON true
    WHERE f.kind IS NULL AND r.kind <> 0
)
SELECT 'edge' AS what, from_user_id, to_user_id, NULL::bigint[] AS edge, edge AS mirror,
       false AS invalid,
       EXISTS (
           SELECT 1 FROM outbox o
           WHERE o.from_user_id = odd.from_user_id AND o.to_user_id = odd.to_user_id
             AND NOT o.applied
       ) AS pending, 0 AS rows
FROM odd
UNION ALL
SELECT 'user', 0, to_user_id, NULL, NULL, false, false, 0
FROM (SELECT DISTINCT to_user_id FROM part WHERE kind <> 0) u
WHERE NOT EXISTS (SELECT 1 FROM follower_count c WHERE c.user_id = u.to_user_id)
  AND NOT EXISTS (SELECT 1 FROM following_count c WHERE c.user_id = u.to_user_id)
  AND NOT EXISTS (
      SELECT 1 FROM following f
      WHERE f.from_user_id = u.to_user_id AND (f.kind <> 0 OR f.flags & 2 <> 0)
  )
UNION ALL
(SELECT 'end', from_user_id, to_user_id, NULL, NULL, false, false, (SELECT count(*) FROM part)
 FROM part ORDER BY to_user_id DESC, from_user_id DESC LIMIT 1)

-- name: compare_counts
-- The stored and computed counts of the users $1: one range per user and direction, a probe for
-- each follow, and one of a small index for each follower. Pending friendships are part of the sum.
-- shard: fan-out
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

-- name: find_unerased
-- The next $2 erased accounts after $1, and whether they have remaining data: a probe for each kind
-- and direction, one of each partition for affinities to them, and some more.
-- shard: fan-out
SELECT a.user_id,
       EXISTS (
           SELECT 1 FROM unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS k (kind)
           CROSS JOIN LATERAL (
               (SELECT 1 FROM following f WHERE f.from_user_id = a.user_id AND f.kind = k.kind LIMIT 1)
               UNION ALL
               (SELECT 1 FROM follower r WHERE r.to_user_id = a.user_id AND r.kind = k.kind LIMIT 1)
           ) e
       )
       OR EXISTS (
           SELECT 1 FROM following f
           WHERE f.from_user_id = a.user_id AND f.kind = 0 AND f.flags <> 0
       )
       OR EXISTS (
           SELECT 1 FROM follower r
           WHERE r.to_user_id = a.user_id AND r.kind = 0 AND r.flags <> 0
       )
       OR EXISTS ( -- as one, these stay probes
           SELECT 1 FROM following_count c WHERE c.user_id = a.user_id
           UNION ALL SELECT 1 FROM follower_count c WHERE c.user_id = a.user_id
           UNION ALL SELECT 1 FROM affinity f WHERE f.user_id = a.user_id
           UNION ALL SELECT 1 FROM affinity f WHERE f.other_id = a.user_id
           UNION ALL SELECT 1 FROM affinity_count c WHERE c.user_id = a.user_id
           UNION ALL SELECT 1 FROM receipt r WHERE r.actor_id = a.user_id
           UNION ALL SELECT 1 FROM receipt r WHERE r.other_id = a.user_id AND r.messages IS NOT NULL
       )
       OR (a.protected, a.following_audience, a.followers_audience) <> (false, 0, 0)
       OR a.following_limit IS NOT NULL AS has_rows
FROM account a
WHERE a.erased_at IS NOT NULL AND a.user_id > $1
ORDER BY a.user_id LIMIT $2
