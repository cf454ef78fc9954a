-- Takes an advisory lock until the transaction ends. On Citus, it is taken on the machine that
-- holds the rows of the user `place`, because gateways and workers may connect to any machine. All
-- callers that take the same lock pass the same `place`.
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
    -- The machine of the shard calls the lock function once, because the left side of the join has
    -- one row. The right side has none: FOR KEY SHARE only makes Citus open a transaction on that
    -- machine, which keeps the lock.
    PERFORM CASE WHEN is_shared THEN pg_advisory_xact_lock_shared(class, key)
                 ELSE pg_advisory_xact_lock(class, key) END
    FROM (SELECT 1) AS once
    LEFT JOIN (
        SELECT 1 FROM following_count WHERE user_id = place AND follows < -1 FOR KEY SHARE
    ) c ON true;
END $$;
