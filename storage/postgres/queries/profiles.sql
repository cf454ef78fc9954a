-- name: profiles
-- The settings and the totals of the users $1: three probes per user. Settings or totals are null
-- for a user without such a row. A friendship that one side made and the other has ended counts -1
-- until the lane is drained. `any_absent`: whether any account is absent.
-- shard: $1[]
SELECT user_id, following, followers, friends, whispers, whispered, outgoing_requests,
       incoming_requests, blocks, blocked, close_follows, mutes,
       protected, following_audience, followers_audience, present, following_limit,
       EXISTS (
           SELECT 1 FROM (
               SELECT 1 FROM account WHERE state <> 0 AND erased_at IS NULL ORDER BY user_id LIMIT 1
           ) a -- the index's order, or the planner might read the table
       ) AS any_absent
FROM (
    SELECT user_id, sum(following)::bigint AS following, sum(followers)::bigint AS followers,
           sum(friends)::bigint AS friends,
           sum(whispers)::bigint AS whispers, sum(whispered)::bigint AS whispered,
           sum(outgoing_requests)::bigint AS outgoing_requests,
           sum(incoming_requests)::bigint AS incoming_requests,
           sum(blocks)::bigint AS blocks, sum(blocked)::bigint AS blocked,
           sum(close_follows)::bigint AS close_follows, sum(mutes)::bigint AS mutes
    FROM (
        SELECT user_id, follows AS following, 0 AS followers, friends,
               whispers, 0 AS whispered, requests AS outgoing_requests, 0 AS incoming_requests,
               blocks, 0 AS blocked, specials AS close_follows, mutes
        FROM following_count WHERE user_id = ANY ($1::bigint[])
        UNION ALL
        SELECT user_id, 0, follows, friends, 0, whispers, 0, requests, 0, blocks, 0, 0
        FROM follower_count WHERE user_id = ANY ($1)
    ) part
    GROUP BY user_id
) totals
FULL JOIN (
    SELECT user_id, protected, following_audience, followers_audience, state = 0 AS present,
           following_limit
    FROM account WHERE user_id = ANY ($1)
) own_account USING (user_id)

-- name: pending_from
-- The changes of the user $1 that are not applied: one index range.
-- shard: $1
SELECT to_user_id AS other_id, version, kind, friends
FROM outbox WHERE from_user_id = $1 AND NOT applied

-- name: pending_between
-- The changes of the users $1 to the user $2 that are not applied: one index range per user.
-- shard: $1[]
SELECT from_user_id AS other_id, version, kind, friends
FROM outbox WHERE from_user_id = ANY ($1::bigint[]) AND to_user_id = $2 AND NOT applied

-- name: reverse_rows_from
-- The reverse rows from the user $1 to the users $2: a probe each. `version` keeps it off the
-- list's index (see relations.sql).
-- shard: $2[]
SELECT to_user_id AS other_id, version, kind FROM follower
WHERE to_user_id = ANY ($2::bigint[]) AND from_user_id = $1::bigint AND version > 0

-- name: reverse_rows_to
-- The reverse rows from the users $2 to the user $1: a probe each.
-- shard: $1
SELECT s.id AS other_id, r.version, r.kind
FROM unnest($2::bigint[]) AS s (id)
CROSS JOIN LATERAL (
    SELECT r.version, r.kind FROM follower r
    WHERE r.to_user_id = $1::bigint AND r.from_user_id = s.id AND r.version > 0
    LIMIT 1
) r

-- name: absent
-- The number of absent users in the lists of $1. At most $2 of the users they follow are looked up
-- among all absent accounts, in one pass over a small index. The count of their absent followers is
-- stored. While some account's change of state is not counted yet, lists of up to $3 followers are
-- looked up too. Each absent user found costs some probes. The columns are those of
-- `graph.counts.Counts`; those of blocks and mutes are zero, because their totals include absent
-- users.
-- shard: $1[1]
WITH behind AS MATERIALIZED ( -- in one snapshot with the counts
    SELECT user_id, absent_follows, absent_whispers, absent_requests,
           follows + whispers + requests <= $3::integer AND EXISTS (
               SELECT 1 FROM (
                   SELECT 1 FROM account WHERE is_counted <> (state <> 0 AND erased_at IS NULL)
                   ORDER BY changed_at, user_id LIMIT 1
               ) a
           ) AS is_looked_up
    FROM follower_count WHERE user_id = ANY ($1::bigint[])
), edge AS MATERIALIZED (
    SELECT u.user_id, e.id, e.kind, true AS is_ahead
    FROM unnest($1) AS u (user_id)
    CROSS JOIN LATERAL (
        SELECT f.to_user_id AS id, f.kind FROM following f
        WHERE f.from_user_id = u.user_id AND f.from_user_id = ANY ($1) AND f.kind IN (1, 2, 3)
        LIMIT $2::integer
    ) e
    UNION ALL
    SELECT c.user_id, e.id, e.kind, false
    FROM behind c
    CROSS JOIN LATERAL (
        SELECT r.from_user_id AS id, r.kind FROM follower r
        WHERE r.to_user_id = c.user_id AND r.to_user_id = ANY ($1) AND r.kind IN (1, 2, 3)
        OFFSET 0
    ) e
    WHERE c.is_looked_up
), gone AS MATERIALIZED ( -- one ordered array costs a quarter of a probe for each edge
    SELECT user_id AS id FROM account
    WHERE user_id = ANY (ARRAY(SELECT id FROM edge)) AND state <> 0 AND erased_at IS NULL
)
SELECT user_id,
       count(*) FILTER (WHERE is_ahead AND e.kind = 1),
       count(*) FILTER (WHERE NOT is_ahead AND e.kind = 1) + coalesce(c.absent_follows, 0),
       count(r.kind),
       count(*) FILTER (WHERE is_ahead AND e.kind = 2),
       count(*) FILTER (WHERE NOT is_ahead AND e.kind = 2) + coalesce(c.absent_whispers, 0),
       count(*) FILTER (WHERE is_ahead AND e.kind = 3),
       count(*) FILTER (WHERE NOT is_ahead AND e.kind = 3) + coalesce(c.absent_requests, 0), 0, 0,
       count(f.flags), 0
FROM (edge e JOIN gone USING (id))
FULL JOIN (
    SELECT * FROM behind
    WHERE NOT is_looked_up AND absent_follows + absent_whispers + absent_requests > 0
) c USING (user_id)
LEFT JOIN LATERAL (
    SELECT r.kind FROM follower r
    WHERE is_ahead AND e.kind = 1
      AND r.to_user_id = e.user_id AND r.to_user_id = ANY ($1) AND r.from_user_id = e.id
      AND r.kind = 1 AND r.version > 0
    LIMIT 1 -- keeps this a probe
) r ON true
LEFT JOIN LATERAL (
    SELECT f.flags FROM following f
    WHERE is_ahead AND e.kind IN (1, 2)
      AND f.from_user_id = e.user_id AND f.from_user_id = ANY ($1) AND f.to_user_id = e.id
      AND f.flags & 1 <> 0 AND f.version > 0
    LIMIT 1
) f ON true
GROUP BY user_id, c.absent_follows, c.absent_whispers, c.absent_requests

-- name: any_edge
-- One row if the space has an edge or a tombstone.
-- shard: fan-out
SELECT 1 FROM following LIMIT 1
