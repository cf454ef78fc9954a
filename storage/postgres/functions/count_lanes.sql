-- The number of lanes of the space: one row.
CREATE OR REPLACE FUNCTION count_lanes() RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT lanes FROM lane_count), 8::smallint)
$$;
