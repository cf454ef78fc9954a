-- Locks a user's count row until the transaction ends: see functions/lock_pair.sql. Inserts the row
-- if it is missing: the INSERT waits for a concurrent one that is not committed. A deleted account
-- gets no row. `is_changed`: the caller changes the row; otherwise the lock is shared.
CREATE OR REPLACE FUNCTION lock_count(owner bigint, is_changed boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF is_changed THEN
        PERFORM 1 FROM following_count WHERE user_id = owner FOR NO KEY UPDATE;
    ELSE
        PERFORM 1 FROM following_count WHERE user_id = owner FOR SHARE;
    END IF;
    IF FOUND OR EXISTS (SELECT 1 FROM account WHERE user_id = owner AND state = 2) THEN
        RETURN;
    END IF;
    INSERT INTO following_count (user_id) VALUES (owner) ON CONFLICT (user_id) DO NOTHING;
    IF is_changed THEN -- not FOR SHARE first: two such transactions would deadlock
        PERFORM 1 FROM following_count WHERE user_id = owner FOR NO KEY UPDATE;
    ELSE
        PERFORM 1 FROM following_count WHERE user_id = owner FOR SHARE;
    END IF;
END $$;
