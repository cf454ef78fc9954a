-- All that is stored about the user $1, in ranges of primary keys: up to $3 rows after the key $2.

-- name: account
-- The settings and the state of the user: one row, with defaults if none is stored.
-- shard: local
SELECT coalesce(a.protected, false) AS protected,
       coalesce(a.following_audience, 0) AS following_audience,
       coalesce(a.followers_audience, 0) AS followers_audience,
       a.following_limit, coalesce(a.state, 0) AS state, coalesce(a.state, 0) = 0 AS present,
       a.changed_at, a.deleted_at, a.erased_at
FROM (SELECT 1) AS one_row
LEFT JOIN account a ON a.user_id = $1

-- name: own_counts
-- The state of the user's rate limiter, and up to when they have seen their followers: one probe.
-- shard: $1
SELECT paced_until, followers_seen FROM following_count WHERE user_id = $1

-- name: outgoing
-- The user's edges, and the flags of users without one. Tombstones are skipped.
-- shard: $1
SELECT to_user_id AS id, kind, flags, since, version, message, muted_until
FROM following
WHERE from_user_id = $1 AND to_user_id > $2 AND (kind <> 0 OR flags <> 0)
ORDER BY to_user_id LIMIT $3

-- name: notes
-- shard: $1
SELECT other_id AS id, note FROM private_note
WHERE author_id = $1 AND other_id > $2 ORDER BY other_id LIMIT $3

-- name: pins
-- All pins of the user, which are at most 10, in order.
-- shard: $1
SELECT other_id AS id, since FROM pinned_following WHERE user_id = $1 ORDER BY position

-- name: groups
-- All groups of the user, which are at most 100, in order.
-- shard: $1
SELECT group_id AS id, name FROM follow_group WHERE user_id = $1 ORDER BY position, group_id

-- name: group_members
-- The members of the user's groups, each with at most 100 groups.
-- shard: $1
SELECT target_id AS id, array_agg(group_id ORDER BY group_id) AS groups,
       array_agg(since ORDER BY group_id) AS dates
FROM follow_group_member
WHERE user_id = $1 AND target_id > $2 GROUP BY target_id ORDER BY target_id LIMIT $3

-- name: affinities
-- shard: $1
SELECT other_id AS id, rank FROM affinity
WHERE user_id = $1 AND other_id > $2 ORDER BY other_id LIMIT $3

-- name: receipts
-- shard: $1
SELECT id, other_id, made_at, outcome, taken, messages, recorded FROM receipt
WHERE actor_id = $1 AND id > $2 ORDER BY id LIMIT $3
