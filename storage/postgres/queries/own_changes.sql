-- name: charge_change
-- Charges one change of the user $1 at $2, with the cost $3, and returns the new state of the rate
-- limiter, all in microseconds (see graph/pace.py). A state after $4 is ignored. One row.
-- shard: $1
INSERT INTO following_count AS c (user_id, paced_until) VALUES ($1, $2::bigint + $3::bigint)
ON CONFLICT (user_id) DO UPDATE
SET paced_until = CASE WHEN c.paced_until > $4 THEN $2 ELSE greatest(c.paced_until, $2) END + $3
RETURNING paced_until
