-- name: unfinished
-- At most $1 deleted accounts that are not erased, in the order of deletion: one range of a small
-- index.
-- shard: local
SELECT user_id FROM account WHERE state = 2 AND erased_at IS NULL ORDER BY deleted_at LIMIT $1

-- name: is_unfinished
-- One row if the user $1 is deleted and not erased: one probe.
-- shard: local
SELECT 1 FROM account WHERE user_id = $1 AND state = 2 AND erased_at IS NULL

-- name: targets
-- At most $2 users to whom $1 has an edge, and as many about whom $1 has only flags: an index
-- range per kind, and one of a small index.
-- shard: $1
(SELECT e.id
 FROM unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS k (kind)
 CROSS JOIN LATERAL (
     SELECT f.to_user_id AS id FROM following f
     WHERE f.from_user_id = $1::bigint AND f.kind = k.kind
     ORDER BY f.since DESC, f.to_user_id DESC LIMIT $2::integer
 ) e
 LIMIT $2)
UNION
(SELECT f.to_user_id FROM following f
 WHERE f.from_user_id = $1 AND f.kind = 0 AND f.flags <> 0
 LIMIT $2)

-- name: sources
-- At most $2 users who have an edge to $1, as far as their changes are applied: an index range per
-- kind.
-- shard: $1
SELECT e.id
FROM unnest(ARRAY[1, 2, 3, 4]::smallint[]) AS k (kind)
CROSS JOIN LATERAL (
    SELECT r.from_user_id AS id FROM follower r
    WHERE r.to_user_id = $1::bigint AND r.kind = k.kind
    ORDER BY r.since DESC, r.from_user_id DESC LIMIT $2::integer
) e
LIMIT $2

-- name: muted_or_dismissed_by
-- At most $2 users who have no edge to $1, but have muted or dismissed them: one range of a
-- small index.
-- shard: $1
SELECT r.from_user_id AS id FROM follower r
WHERE r.to_user_id = $1 AND r.kind = 0 AND r.flags <> 0
LIMIT $2

-- name: lane
-- The lane of changes towards the user $1: one row.
-- shard: local
SELECT lane_of($1) AS lane

-- name: has_pending_change
-- One row if a change to the user $1 waits in one of the lanes $2, or a change by them waits: a
-- probe for each lane, and one index range.
-- shard: fan-out
(SELECT 1 FROM outbox WHERE lane = ANY ($2::smallint[]) AND to_user_id = $1 LIMIT 1)
UNION ALL
(SELECT 1 FROM outbox WHERE from_user_id = $1 LIMIT 1)

-- name: clear_receipts
-- Deletes at most $2 receipts of the user $1: one index range.
-- shard: $1
WITH gone AS (
    DELETE FROM receipt WHERE actor_id = $1 AND id IN (
        SELECT id FROM receipt WHERE actor_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_messages
-- Deletes the request messages in at most $2 receipts of other users about the user $1: one range
-- of a small index.
-- shard: fan-out
WITH cleared AS (
    UPDATE receipt SET messages = NULL WHERE (actor_id, id) IN (
        SELECT actor_id, id FROM receipt WHERE other_id = $1 AND messages IS NOT NULL LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM cleared

-- name: clear_tombstones
-- Deletes at most $2 forward tombstones of the user $1: one index range. No edge of a deleted
-- account begins again, and none of its changes is pending, so no version depends on them.
-- shard: $1
WITH gone AS (
    DELETE FROM following WHERE from_user_id = $1 AND to_user_id IN (
        SELECT to_user_id FROM following
        WHERE from_user_id = $1 AND kind = 0 AND flags = 0 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_notes
-- Deletes at most $2 private notes of the user $1: one index range.
-- shard: $1
WITH gone AS (
    DELETE FROM private_note WHERE author_id = $1 AND other_id IN (
        SELECT other_id FROM private_note WHERE author_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_notes_about
-- Deletes at most $2 private notes of other users about the user $1: one range of a small index.
-- shard: fan-out
WITH gone AS (
    DELETE FROM private_note WHERE (author_id, other_id) IN (
        SELECT author_id, other_id FROM private_note WHERE other_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_pins
-- Deletes at most $2 pins of the user $1: one index range.
-- shard: $1
WITH gone AS (
    DELETE FROM pinned_following WHERE user_id = $1 AND position IN (
        SELECT position FROM pinned_following WHERE user_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_pins_of
-- Deletes at most $2 pins of other users that name the user $1: one range of a small index.
-- shard: fan-out
WITH gone AS (
    DELETE FROM pinned_following WHERE (user_id, position) IN (
        SELECT user_id, position FROM pinned_following WHERE other_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_members
-- Deletes at most $2 members of groups of the user $1: one index range.
-- shard: $1
WITH gone AS (
    DELETE FROM follow_group_member WHERE user_id = $1 AND (target_id, group_id) IN (
        SELECT target_id, group_id FROM follow_group_member WHERE user_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_groups
-- Deletes at most $2 groups of the user $1: one index range.
-- shard: $1
WITH gone AS (
    DELETE FROM follow_group WHERE user_id = $1 AND group_id IN (
        SELECT group_id FROM follow_group WHERE user_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: clear_memberships
-- Deletes the user $1 from groups of other users, at most $2 times: one range of an index.
-- shard: fan-out
WITH gone AS (
    DELETE FROM follow_group_member WHERE (user_id, target_id, group_id) IN (
        SELECT user_id, target_id, group_id FROM follow_group_member WHERE target_id = $1 LIMIT $2
    )
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: finish
-- Finishes the erasure of the user $1 if they were deleted more than $2 seconds ago: deletes their
-- count rows and resets their settings. Three probes. Returns whether it did.
-- shard: fan-out
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint AS now
), finished AS (
    UPDATE account
    SET erased_at = clock.now, changed_at = clock.now, protected = false, following_audience = 0,
        followers_audience = 0, following_limit = NULL
    FROM clock
    WHERE user_id = $1 AND state = 2 AND erased_at IS NULL
      AND deleted_at < clock.now - ($2::float8 * 1000000)::bigint
    RETURNING user_id
), following_counts AS (
    DELETE FROM following_count WHERE user_id IN (SELECT user_id FROM finished)
), follower_counts AS (
    DELETE FROM follower_count WHERE user_id IN (SELECT user_id FROM finished)
)
SELECT EXISTS (SELECT 1 FROM finished) AS finished
