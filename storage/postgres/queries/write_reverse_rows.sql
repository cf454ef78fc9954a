-- name: {oldest,given}_on_citus
-- Finds changes of the lane $1: {the oldest $3 after the id,those with the ids} $2. The next
-- statements then ask only the shards of the users of these changes.
-- shard: fan-out
SELECT id, from_user_id, to_user_id FROM outbox
WHERE lane = $1 AND id {> $2,= ANY ($2::bigint[])} ORDER BY id LIMIT $3

-- name: hold_targets_on_citus
-- Locks the counts of the users $1. The lock of the lane is released before every machine has
-- committed the drain that held it. The lock of a count row is held until its machine has committed
-- that drain, so the next statement sees the rows of that drain.
-- shard: $1[]
INSERT INTO follower_count AS c (user_id)
SELECT t.user_id FROM unnest($1::bigint[]) AS t (user_id) ORDER BY t.user_id
ON CONFLICT (user_id) DO UPDATE SET follows = c.follows

-- name: write_reverse_rows{,_on_citus}
-- Applies the oldest $2 changes of the lane $1 after the id $3, or the changes $4 if they are
-- given, to the reverse rows and their counts, except those that an earlier drain has applied and
-- not acknowledged. Returns all changes, applied now or earlier. Only the newest change of a pair
-- is written, and only if it is newer than the row. So the counts change by the actual difference,
-- in whatever order changes arrive.
{,-- $5 and $6: the sources and the targets of the changes, whose shards alone are asked.}
-- shard: {plain,fan-out}
WITH batch AS MATERIALIZED (
    (SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target, applied
     FROM outbox WHERE $4::bigint[] IS NULL AND lane = $1 AND id > $3{, AND from_user_id = ANY ($5)}
     ORDER BY id LIMIT $2)
    UNION ALL
    SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target, applied
    FROM outbox WHERE lane = $1 AND id = ANY ($4){, AND from_user_id = ANY ($5)}
), taken AS ( -- not a join, which would be estimated as a tenth of the lane and read the table
    UPDATE outbox SET applied = true
    WHERE lane = $1 AND id = ANY (ARRAY(SELECT id FROM batch WHERE NOT applied)) AND NOT applied
      {, AND from_user_id = ANY ($5)}
    RETURNING to_user_id, from_user_id, kind, flags, since, version, friends
), newest AS MATERIALIZED (
    SELECT DISTINCT ON (to_user_id, from_user_id)
           to_user_id, from_user_id, kind, flags, since, version
    FROM taken WHERE to_user_id > 0 -- the others are canaries
    ORDER BY to_user_id, from_user_id, version DESC
), previous AS MATERIALIZED ( -- the lane's lock keeps these rows unchanged
    SELECT r.to_user_id, r.from_user_id, r.kind, r.version
    FROM newest n
    JOIN follower r ON r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    {,WHERE r.to_user_id = ANY ($6)}
), newer AS MATERIALIZED (
    SELECT n.*, r.kind AS previous_kind, coalesce(a.is_counted, false) AS is_absent
    FROM newest n
    LEFT JOIN previous r ON r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    LEFT JOIN LATERAL (
        SELECT a.is_counted FROM account a WHERE a.user_id = n.from_user_id AND a.is_counted LIMIT 1
    ) a ON true
    WHERE coalesce(r.version < n.version, true)
), applied AS (
    INSERT INTO follower (to_user_id, from_user_id, kind, flags, since, version)
    SELECT to_user_id, from_user_id, kind, flags, since, version FROM newer
    ON CONFLICT (to_user_id, from_user_id) DO UPDATE
    SET kind = excluded.kind, flags = excluded.flags,
        since = excluded.since, version = excluded.version
), step AS (
    SELECT to_user_id, kind, 1 AS way, 0 AS friends, is_absent FROM newer
    UNION ALL
    SELECT to_user_id, previous_kind, -1, 0, is_absent FROM newer
    UNION ALL
    SELECT to_user_id, 0, 0, friends, false FROM taken WHERE to_user_id > 0
), counted AS (
    INSERT INTO follower_count AS c (user_id, follows, whispers, requests, blocks, friends,
                                     absent_follows, absent_whispers, absent_requests)
    SELECT to_user_id,
           coalesce(sum(way) FILTER (WHERE kind = 1), 0), coalesce(sum(way) FILTER (WHERE kind = 2), 0),
           coalesce(sum(way) FILTER (WHERE kind = 3), 0), coalesce(sum(way) FILTER (WHERE kind = 4), 0),
           sum(friends),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 1), 0),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 2), 0),
           coalesce(sum(way) FILTER (WHERE is_absent AND kind = 3), 0)
    FROM step GROUP BY to_user_id ORDER BY to_user_id
    ON CONFLICT (user_id) DO UPDATE
    SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
        requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
        friends = c.friends + excluded.friends,
        absent_follows = c.absent_follows + excluded.absent_follows,
        absent_whispers = c.absent_whispers + excluded.absent_whispers,
        absent_requests = c.absent_requests + excluded.absent_requests
)
SELECT id, from_user_id, to_user_id, kind, flags, since, version, former, by_target
FROM batch ORDER BY id
