-- name: count_lanes
-- The number of lanes, and of changes in the outbox up to $1.
-- shard: fan-out
SELECT coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint) AS lanes,
       (SELECT count(*) FROM (SELECT 1 FROM outbox LIMIT $1) o) AS waiting

-- name: lock_lane_count
-- Locks the number of lanes: waits for transactions that have run `share_lane_count`, and blocks
-- new ones.
-- shard: local
SELECT lock_at(0, $1, 0)

-- name: share_lane_count
-- Prevents a change of the number of lanes until the transaction ends.
-- shard: local
SELECT lock_at(0, $1, 0, true)

-- name: lock_outbox
-- Waits for the transactions that write to the outbox, and blocks new ones.
-- shard: fan-out
LOCK TABLE outbox IN SHARE ROW EXCLUSIVE MODE

-- name: set_lanes
-- Sets the number of lanes.
-- shard: local
INSERT INTO lane_count (lanes) VALUES ($1)
ON CONFLICT (is_only) DO UPDATE SET lanes = excluded.lanes

-- name: drop_canaries
-- Deletes the canaries, which belong to lanes and not to users.
-- shard: fan-out
DELETE FROM outbox WHERE from_user_id < 0

-- name: move_changes
-- Moves all changes to their lanes of $1, applied ones too: reads the whole outbox. The lane of a
-- parked or failed change keeps its distance of 256 or 512.
-- shard: fan-out
UPDATE outbox SET lane = (lane & -256) + (hash_user(to_user_id) & $1::bigint - 1)::smallint
WHERE lane & 255 <> hash_user(to_user_id) & $1 - 1

-- name: forget_canaries
-- Deletes the lags of lanes that do not exist any more.
-- shard: local
DELETE FROM canary WHERE lane >= $1
