-- The 64-bit finaliser of MurmurHash3, by Austin Appleby, of a user's id: the same as `hash_user`
-- in graph/lane.py. PostgreSQL has neither unsigned integers nor multiplication that wraps around.
CREATE OR REPLACE FUNCTION hash_user(user_id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    mixed bigint := user_id;
    factor numeric;
    product numeric;
BEGIN
    FOREACH factor IN ARRAY ARRAY[18397679294719823053, 14181476777654086739] LOOP
        product := (mixed # ((mixed >> 33) & 2147483647)) * factor % 18446744073709551616;
        mixed := CASE WHEN product >= 9223372036854775808 THEN product - 18446744073709551616
                      WHEN product < -9223372036854775808 THEN product + 18446744073709551616
                      ELSE product END;
    END LOOP;
    RETURN mixed # ((mixed >> 33) & 2147483647);
END $$;
