-- Takes an advisory lock until the transaction ends. On Citus, it is taken on the machine that holds
-- the rows of the user `place`, because gateways and workers may connect to any machine. All who
-- take the same lock name the same place.
CREATE OR REPLACE FUNCTION lock_at(
    place bigint, class integer, key integer, is_shared boolean DEFAULT false
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT hold_shard(place) THEN
        IF is_shared THEN
            PERFORM pg_advisory_xact_lock_shared(class, key);
        ELSE
            PERFORM pg_advisory_xact_lock(class, key);
        END IF;
        RETURN;
    END IF;
    -- That machine calls the function once, as the left side of the join has one row. The right side
    -- has none: its clause FOR KEY SHARE makes Citus open a transaction there, which keeps the lock.
    PERFORM CASE WHEN is_shared THEN pg_advisory_xact_lock_shared(class, key)
                 ELSE pg_advisory_xact_lock(class, key) END
    FROM (SELECT 1) AS once
    LEFT JOIN (
        SELECT 1 FROM following_count WHERE user_id = place AND follows < -1 FOR KEY SHARE
    ) c ON true;
END $$;
