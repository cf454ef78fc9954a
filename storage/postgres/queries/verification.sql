-- name: read_verification
-- The state of the verification: one row, or none before the first slice.
-- shard: local
SELECT phase, owner_id, other_id, compared, drifts::text, slices, completed_at,
       completed_drifts::text
FROM verification

-- name: write_verification
-- Sets the position ($1, $2, $3), the number of compared rows $4 and the drifts $5 after a slice. If
-- $6, the pass is complete: its drifts become the result, and the next pass counts from zero.
-- shard: local
INSERT INTO verification AS v (phase, owner_id, other_id, compared, drifts, slices, completed_at,
                               completed_drifts)
VALUES ($1, $2, $3, CASE WHEN $6 THEN 0 ELSE $4::bigint END,
        CASE WHEN $6 THEN '{}' ELSE $5::jsonb END, 1,
        CASE WHEN $6 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END,
        CASE WHEN $6 THEN $5::jsonb ELSE '{}' END)
ON CONFLICT (is_only) DO UPDATE
SET phase = excluded.phase, owner_id = excluded.owner_id, other_id = excluded.other_id,
    compared = excluded.compared, drifts = excluded.drifts, slices = v.slices + 1,
    completed_at = coalesce(excluded.completed_at, v.completed_at),
    completed_drifts = CASE WHEN $6 THEN excluded.completed_drifts ELSE v.completed_drifts END
