-- Takes the lock of functions/lock_at.sql unless another transaction holds it. Returns whether the
-- lock was taken.
CREATE OR REPLACE FUNCTION try_lock_at(place bigint, class integer, key integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT hold_shard(place) THEN
        RETURN pg_try_advisory_xact_lock(class, key);
    END IF;
    RETURN (
        SELECT pg_try_advisory_xact_lock(class, key)
        FROM (SELECT 1) AS once
        LEFT JOIN (
            SELECT 1 FROM following_count WHERE user_id = place AND follows < -1 FOR KEY SHARE
        ) c ON true
    );
END $$;
