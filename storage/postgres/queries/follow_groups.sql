-- Groups of follows. Everything of a group is in its owner's shard.
--
-- A member counts while the owner follows the user since the same date, and the user's account is
-- present: a probe of `following` and one of `account`, which has few rows. `version` keeps the
-- first probe off the lists' indexes (see relations.sql).

-- name: find_groups
-- The groups of the user $1 in their order: at most 100 rows.
-- shard: $1
SELECT group_id, name, request_id FROM follow_group WHERE user_id = $1 ORDER BY position, group_id

-- name: group_page_{older,newer}
-- The group $7 of the user $1: one row without a date if it is empty, no row if it does not exist.
-- One index range from $2, $3 to $4, $5 until $6 members are found, two probes for each. It passes
-- over members whose follow has ended, of whom there are few: see `is_crowded`.
-- shard: $1
SELECT p.since, p.id
FROM follow_group g
LEFT JOIN LATERAL (
    SELECT m.since, m.target_id AS id
    FROM follow_group_member m
    CROSS JOIN LATERAL (
        SELECT 1 FROM following f
        WHERE f.from_user_id = $1 AND f.to_user_id = m.target_id
          AND f.since = m.since AND f.kind IN (1, 2) AND f.version > 0
        LIMIT 1
    ) f
    WHERE m.user_id = $1 AND m.group_id = $7
      AND (m.since, m.target_id) < ($2::bigint, $3::bigint)
      AND (m.since, m.target_id) > ($4::bigint, $5::bigint)
      AND NOT EXISTS (
          SELECT 1 FROM account a
          WHERE a.user_id = m.target_id AND a.state <> 0 AND a.erased_at IS NULL
      )
    ORDER BY m.since {DESC,ASC}, m.target_id {DESC,ASC}
    LIMIT $6
) p ON true
WHERE g.user_id = $1 AND g.group_id = $7

-- name: member_counts
-- The number of members of the groups $2 of the user $1: one index range for each, and two probes
-- for each member.
-- shard: $1
SELECT m.group_id, count(*) AS members
FROM follow_group_member m
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = $1 AND f.to_user_id = m.target_id
      AND f.since = m.since AND f.kind IN (1, 2) AND f.version > 0
    LIMIT 1
) f
WHERE m.user_id = $1 AND m.group_id = ANY ($2::bigint[])
  AND NOT EXISTS (
      SELECT 1 FROM account a
      WHERE a.user_id = m.target_id AND a.state <> 0 AND a.erased_at IS NULL
  )
GROUP BY m.group_id

-- name: groups_of_members
-- The groups that hold the users $2, in the order of the groups of the user $1, one row for each
-- user who is in any: an index range and a probe for each, and the groups of $1.
-- shard: $1
SELECT m.target_id, m.groups
FROM unnest($2::bigint[]) AS u (id)
CROSS JOIN LATERAL (
    SELECT m.target_id, m.since, array_agg(m.group_id ORDER BY g.position, g.group_id) AS groups
    FROM follow_group_member m
    JOIN follow_group g ON g.user_id = $1 AND g.group_id = m.group_id
    WHERE m.user_id = $1 AND m.target_id = u.id
    GROUP BY m.target_id, m.since
) m
CROSS JOIN LATERAL (
    SELECT 1 FROM following f
    WHERE f.from_user_id = $1 AND f.to_user_id = m.target_id
      AND f.since = m.since AND f.kind IN (1, 2) AND f.version > 0
    LIMIT 1
) f

-- name: create_group
-- Creates a group of the user $1, after the others: one row.
-- shard: $1
INSERT INTO follow_group (user_id, group_id, name, request_id) VALUES ($1, $2, $3, $4)

-- name: rename_group
-- Renames the group $2 of the user $1: one row.
-- shard: $1
UPDATE follow_group SET name = $3 WHERE user_id = $1 AND group_id = $2

-- name: order_groups
-- Puts the groups of the user $1 in the order of $2: at most 100 rows.
-- shard: $1
UPDATE follow_group SET position = array_position($2::bigint[], group_id)
WHERE user_id = $1 AND group_id = ANY ($2) AND position <> array_position($2, group_id)

-- name: delete_members
-- Deletes all members of the group $2 of the user $1: one index range.
-- shard: $1
DELETE FROM follow_group_member WHERE user_id = $1 AND group_id = $2

-- name: delete_group
-- Deletes the group $2 of the user $1: one row.
-- shard: $1
DELETE FROM follow_group WHERE user_id = $1 AND group_id = $2

-- name: add_members
-- Adds the users $3, followed since $4, to the group $2 of the user $1: a probe for each. Returns
-- those who were not in it.
-- shard: $1
INSERT INTO follow_group_member AS m (user_id, target_id, group_id, since)
SELECT $1, f.id, $2, f.since FROM unnest($3::bigint[], $4::bigint[]) AS f (id, since)
ON CONFLICT (user_id, target_id, group_id) DO UPDATE SET since = excluded.since
WHERE m.since <> excluded.since
RETURNING m.target_id

-- name: remove_members
-- Removes the users $3, followed since $4, from the group $2 of the user $1: a probe for each.
-- Returns those who were in it by this follow.
-- shard: $1
DELETE FROM follow_group_member
WHERE user_id = $1 AND group_id = $2 AND target_id = ANY ($3::bigint[])
  AND since = ($4::bigint[])[array_position($3, target_id)]
RETURNING target_id

-- name: delete_former_members
-- Deletes the members $2 from all groups of the user $1 that they were in by an earlier follow than
-- the one since $3: an index range for each.
-- shard: $1
DELETE FROM follow_group_member
WHERE user_id = $1 AND target_id = ANY ($2::bigint[])
  AND since <> ($3::bigint[])[array_position($2, target_id)]

-- name: is_crowded
-- Whether the group $2 of the user $1 has at least $3 members whose follow has ended, because it
-- has that many more than the user has follows: reads no more rows of the group than that.
-- shard: $1
SELECT count(*) >= (SELECT follows + whispers + $3::integer FROM following_count WHERE user_id = $1)
       AS is_crowded
FROM (
    SELECT 1 FROM follow_group_member WHERE user_id = $1 AND group_id = $2
    LIMIT (SELECT follows + whispers + $3 FROM following_count WHERE user_id = $1)
) m

-- name: delete_ended_members
-- Deletes the members of the group $2 of the user $1 whose follow has ended more than $3 seconds
-- ago, or was followed by a later one: one index range, and a probe for each member. It skips
-- locked rows, so it never waits.
-- shard: $1
WITH ended AS MATERIALIZED (
    SELECT m.target_id FROM follow_group_member m
    WHERE m.user_id = $1 AND m.group_id = $2
      AND NOT EXISTS (
          SELECT 1 FROM following f
          WHERE f.from_user_id = $1 AND f.to_user_id = m.target_id AND f.version > 0
            AND CASE WHEN f.kind IN (1, 2) THEN f.since = m.since
                     ELSE f.version >= ((extract(epoch FROM statement_timestamp()) - $3::float8) * 1000000)::bigint
                END
          OFFSET 0 -- keeps this a probe
      )
    FOR UPDATE OF m SKIP LOCKED
)
DELETE FROM follow_group_member
WHERE user_id = $1 AND group_id = $2 AND target_id = ANY (ARRAY(SELECT target_id FROM ended))
