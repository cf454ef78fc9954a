-- The number of lanes of the space: one probe. Without the setting, the planner would scan the
-- table, because it has one row.
CREATE OR REPLACE FUNCTION count_lanes() RETURNS smallint LANGUAGE sql STABLE
SET enable_seqscan = off AS $$
    SELECT coalesce((SELECT lanes FROM lane_count WHERE is_only), 8::smallint)
$$;
