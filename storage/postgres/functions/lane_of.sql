-- The lane of all changes towards a user.
CREATE OR REPLACE FUNCTION lane_of(user_id bigint) RETURNS smallint LANGUAGE sql STABLE AS $$
    SELECT (hash_user(user_id) & (count_lanes() - 1))::smallint
$$;
