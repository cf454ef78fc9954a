-- name: lock_pairs
-- Locks the pairs ($1[i], $2[i]), in the order of their slots.
-- shard: local
SELECT count(lock_pair(one, other))
FROM (
    SELECT one, other FROM unnest($1::bigint[], $2::bigint[]) AS pair (one, other)
    ORDER BY pair_slot(one, other)
) pair

-- name: lock_lanes
-- Takes the locks, of the class $1, of the lanes of the users $2, in order.
-- shard: local
SELECT count(lock_at(lane, $1, lane))
FROM (SELECT DISTINCT lane_of(id) AS lane FROM unnest($2::bigint[]) AS id ORDER BY lane) AS own

-- name: absent
-- Those of the users $1 who count as absent: a probe each.
-- shard: local
SELECT user_id FROM account WHERE user_id = ANY ($1::bigint[]) AND is_counted

-- name: delete_reverse
-- Deletes the reverse rows from $1[i] to $2[i].
-- shard: $2[]
DELETE FROM follower r
USING unnest($1::bigint[], $2::bigint[]) AS p (from_user_id, to_user_id)
WHERE r.to_user_id = ANY ($2::bigint[]) AND r.to_user_id = p.to_user_id
  AND r.from_user_id = p.from_user_id

-- name: write_reverse
-- Writes the reverse rows from $1[i] to $2[i] as given. A pending change then has no effect,
-- because its version is not newer.
-- shard: $2[]
INSERT INTO follower AS r (from_user_id, to_user_id, kind, flags, since, version)
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::smallint[]), unnest($4::smallint[]),
       unnest($5::bigint[]), unnest($6::bigint[])
ON CONFLICT (to_user_id, from_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version,
    kind = excluded.kind, flags = excluded.flags

-- name: add_counts
-- Adds $2 to $8 to the counts of the users $1, in the order given.
-- shard: $1[]
INSERT INTO follower_count AS c (user_id, follows, whispers, requests, blocks,
                                 absent_follows, absent_whispers, absent_requests)
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]),
       unnest($5::bigint[]), unnest($6::bigint[]), unnest($7::bigint[]), unnest($8::bigint[])
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
    requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
    absent_follows = c.absent_follows + excluded.absent_follows,
    absent_whispers = c.absent_whispers + excluded.absent_whispers,
    absent_requests = c.absent_requests + excluded.absent_requests

-- name: ensure_counts
-- Creates the rows that the next statement locks.
-- shard: $1[]
INSERT INTO following_count (user_id) SELECT unnest($1::bigint[]) ON CONFLICT (user_id) DO NOTHING

-- name: lock_count
-- Locks the count row of the user $1, so that this user cannot change their own edges.
-- shard: $1
SELECT 1 FROM following_count WHERE user_id = $1 FOR UPDATE

-- name: repair_counts
-- Sets the counts of the user $1 to the numbers $2 to $15, in the order of `tallies.AllCounts`, which
-- `compare_counts` has computed in this transaction. The number of friends is the sum of two
-- columns: $4 is what it lacks, and is added to `follower_count`.
-- shard: $1
WITH own AS (
    UPDATE following_count
    SET follows = $2::bigint, whispers = $5::bigint, requests = $7::bigint, blocks = $9::bigint,
        specials = $11::bigint, mutes = $12::bigint
    WHERE user_id = $1::bigint
)
INSERT INTO follower_count AS c (user_id, follows, friends, whispers, requests, blocks,
                                 absent_follows, absent_whispers, absent_requests)
VALUES ($1, $3::bigint, $4::bigint, $6::bigint, $8::bigint, $10::bigint,
        $13::bigint, $14::bigint, $15::bigint)
ON CONFLICT (user_id) DO UPDATE
SET follows = excluded.follows, friends = c.friends + excluded.friends,
    whispers = excluded.whispers, requests = excluded.requests, blocks = excluded.blocks,
    absent_follows = excluded.absent_follows, absent_whispers = excluded.absent_whispers,
    absent_requests = excluded.absent_requests

-- name: erase_again
-- Marks the accounts $1 as not erased, so that the workers erase them again: a probe each.
-- shard: local
UPDATE account
SET erased_at = NULL, changed_at = clock.now
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now) clock
WHERE user_id = ANY ($1::bigint[]) AND state = 2

-- name: delete_lost_member
-- Deletes the member $2 of the group $3 of the user $1, if the group does not exist: two probes.
-- shard: $1
DELETE FROM follow_group_member
WHERE user_id = $1 AND target_id = $2 AND group_id = $3
  AND NOT EXISTS (SELECT 1 FROM follow_group WHERE user_id = $1 AND group_id = $3)
