-- name: counts
-- Totals of the users $1 as $2 sees them (0 for nobody): two probes a user, and $2's own pending
-- changes towards them in the same snapshot, so that none is missed and none is counted twice.
-- `version` keeps the probe of a star's follower off the list's index (see relations.sql).
-- A friendship that one side made and the other has ended counts -1 until the lane is drained.
WITH own AS MATERIALIZED (
    SELECT to_user_id, sum(friends) AS friends,
           (array_agg(kind ORDER BY version DESC))[1] AS kind
    FROM outbox
    WHERE from_user_id = $2 AND to_user_id = ANY ($1::bigint[]) AND NOT applied
    GROUP BY to_user_id
)
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

-- name: any_edge
-- One row if anybody has ever followed anybody.
SELECT FROM following LIMIT 1
