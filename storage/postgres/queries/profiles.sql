-- name: profiles
-- What the users $1 say about themselves, and their totals as $2 sees them (0 for nobody): three
-- probes a user, and $2's own pending changes towards them in the same snapshot, so that none is
-- missed and none is counted twice. Of who has no account or no totals, these are null.
-- `version` keeps the probe of a star's follower off the list's index (see relations.sql).
-- A friendship that one side made and the other has ended counts -1 until the lane is drained.
-- `absent` says how many accounts are not here, up to $3.
WITH own AS MATERIALIZED (
    SELECT to_user_id, sum(friends) AS friends,
           (array_agg(kind ORDER BY version DESC))[1] AS kind
    FROM outbox
    WHERE from_user_id = $2 AND to_user_id = ANY ($1::bigint[]) AND NOT applied
    GROUP BY to_user_id
)
SELECT user_id, following, followers, friends, whispers, whispered, outgoing_requests,
       incoming_requests, blocks, blocked, specials, mutes,
       protected, following_audience, followers_audience, present, following_limit,
       (SELECT count(*) FROM (
            SELECT FROM account WHERE state <> 0 AND erased_at IS NULL LIMIT $3::integer
        ) a) AS absent
FROM (
    SELECT user_id, sum(following)::bigint AS following, sum(followers)::bigint AS followers,
           greatest(sum(friends), 0)::bigint AS friends,
           sum(whispers)::bigint AS whispers, sum(whispered)::bigint AS whispered,
           sum(outgoing_requests)::bigint AS outgoing_requests,
           sum(incoming_requests)::bigint AS incoming_requests,
           sum(blocks)::bigint AS blocks, sum(blocked)::bigint AS blocked,
           sum(specials)::bigint AS specials, sum(mutes)::bigint AS mutes
    FROM (
        SELECT user_id, follows AS following, 0 AS followers, friends,
               whispers, 0 AS whispered, requests AS outgoing_requests, 0 AS incoming_requests,
               blocks, 0 AS blocked, specials, mutes
        FROM following_count WHERE user_id = ANY ($1)
        UNION ALL
        SELECT user_id, 0, follows, friends, 0, whispers, 0, requests, 0, blocks, 0, 0
        FROM follower_count WHERE user_id = ANY ($1)
        UNION ALL
        SELECT own.to_user_id, 0, (own.kind = 1)::integer - coalesce((r.kind = 1)::integer, 0),
               own.friends, 0, 0, 0, 0, 0, 0, 0, 0
        FROM own
        LEFT JOIN follower r
          ON r.to_user_id = own.to_user_id AND r.from_user_id = $2 AND r.version > 0
        UNION ALL
        SELECT o.to_user_id, 0, 0, o.friends, 0, 0, 0, 0, 0, 0, 0, 0
        FROM outbox o
        WHERE o.from_user_id = ANY (SELECT to_user_id FROM outbox WHERE from_user_id = $2)
          AND o.to_user_id = $2 AND $2 = ANY ($1) AND NOT o.applied
    ) part
    GROUP BY user_id
) totals
FULL JOIN (
    SELECT user_id, protected, following_audience, followers_audience, state = 0 AS present,
           following_limit
    FROM account WHERE user_id = ANY ($1)
) own_account USING (user_id)

-- name: few_absent
-- How many of the few who are absent (at most $2) are in the lists of $1: two probes for each of
-- both. The columns are those of `graph.counts.Counts`, whose blocks and mutes hold the absent too.
SELECT u.user_id,
       count(*) FILTER (WHERE f.kind = 1), count(*) FILTER (WHERE r.kind = 1),
       count(*) FILTER (WHERE f.kind = 1 AND r.kind = 1),
       count(*) FILTER (WHERE f.kind = 2), count(*) FILTER (WHERE r.kind = 2),
       count(*) FILTER (WHERE f.kind = 3), count(*) FILTER (WHERE r.kind = 3), 0, 0,
       count(*) FILTER (WHERE f.kind IN (1, 2) AND f.flags & 1 <> 0), 0
FROM unnest($1::bigint[]) AS u (user_id)
CROSS JOIN (
    SELECT user_id AS id FROM account WHERE state <> 0 AND erased_at IS NULL
    ORDER BY user_id LIMIT $2::integer
) a
LEFT JOIN LATERAL (
    SELECT f.kind, f.flags FROM following f
    WHERE f.from_user_id = u.user_id AND f.to_user_id = a.id AND f.version > 0
    LIMIT 1 -- keeps this a probe
) f ON true
LEFT JOIN LATERAL (
    SELECT r.kind FROM follower r
    WHERE r.to_user_id = u.user_id AND r.from_user_id = a.id AND r.version > 0
    LIMIT 1
) r ON true
WHERE f.kind BETWEEN 1 AND 3 OR r.kind BETWEEN 1 AND 3
GROUP BY u.user_id

-- name: many_absent
-- The same where very many are absent: of each list of $1 the newest $2 are looked up among them.
WITH edge AS (
    SELECT u.user_id, e.id, e.kind, e.flags, 0 AS back_kind
    FROM unnest($1::bigint[]) AS u (user_id)
    CROSS JOIN unnest(ARRAY[1, 2, 3]::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT f.to_user_id AS id, f.kind, f.flags FROM following f
        WHERE f.from_user_id = u.user_id AND f.kind = k.kind
        ORDER BY f.since DESC, f.to_user_id DESC LIMIT $2::integer
    ) e
    UNION ALL
    SELECT u.user_id, e.id, 0, 0, e.kind
    FROM unnest($1) AS u (user_id)
    CROSS JOIN unnest(ARRAY[1, 2, 3]::smallint[]) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT r.from_user_id AS id, r.kind FROM follower r
        WHERE r.to_user_id = u.user_id AND r.kind = k.kind
        ORDER BY r.since DESC, r.from_user_id DESC LIMIT $2
    ) e
), absent AS (
    SELECT e.user_id, e.kind, e.flags, e.back_kind, e.kind = 1 AND r.kind IS NOT NULL AS is_friend
    FROM edge e
    CROSS JOIN LATERAL (
        SELECT FROM account a
        WHERE a.user_id = e.id AND a.state <> 0 AND a.erased_at IS NULL
        LIMIT 1
    ) a
    LEFT JOIN LATERAL (
        SELECT r.kind FROM follower r
        WHERE r.to_user_id = e.user_id AND r.from_user_id = e.id AND r.kind = 1 AND r.version > 0
        LIMIT 1
    ) r ON true
)
SELECT user_id,
       count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE back_kind = 1),
       count(*) FILTER (WHERE is_friend),
       count(*) FILTER (WHERE kind = 2), count(*) FILTER (WHERE back_kind = 2),
       count(*) FILTER (WHERE kind = 3), count(*) FILTER (WHERE back_kind = 3), 0, 0,
       count(*) FILTER (WHERE kind IN (1, 2) AND flags & 1 <> 0), 0
FROM absent
GROUP BY user_id

-- name: any_edge
-- One row if anybody has ever followed anybody.
SELECT FROM following LIMIT 1
