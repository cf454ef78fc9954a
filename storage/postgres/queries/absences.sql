-- Absent accounts: deactivated, or deleted and not yet erased.

-- name: all_absent
-- The next $2 absent accounts after the user $1: one range of a small index. An extra first
-- row, with user id 0, contains the database time before the read, in microseconds.
-- shard: local
SELECT 0 AS user_id, (extract(epoch FROM now()) * 1000000)::bigint AS now
UNION ALL
(SELECT user_id, NULL FROM account
 WHERE state <> 0 AND erased_at IS NULL AND user_id > $1
 ORDER BY user_id LIMIT $2)

-- name: recently_changed
-- The next $3 accounts whose state changed after ($1, $2): one range of a small index. An
-- extra first row, with user id 0, contains the database time before the read, in microseconds.
-- shard: local
SELECT 0 AS user_id, (extract(epoch FROM now()) * 1000000)::bigint AS changed_at, false AS absent
UNION ALL
(SELECT user_id, changed_at, state <> 0 AND erased_at IS NULL FROM account
 WHERE changed_at IS NOT NULL AND (changed_at, user_id) > ($1::bigint, $2::bigint)
 ORDER BY changed_at, user_id LIMIT $3)
