-- Orders all changes between two users until the transaction ends (storage/postgres/connection/locks.py).
-- `is_both`: edges of both users change.
--
-- On Citus, a lock that is on another machine than the rows that it protects is released before the
-- other machine has committed them. So the count rows of both users are locked too, in the order of
-- ids: the transaction that locks them reads the previous holder's rows. The other user's is locked
-- FOR SHARE, so the followers of a star do not wait for each other.
CREATE OR REPLACE FUNCTION lock_pair(actor bigint, other bigint, is_both boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_at(least(actor, other), 1, pair_slot(actor, other));
    IF NOT hold_shard(actor) THEN
        RETURN;
    END IF;
    PERFORM hold_shard(other);
    IF actor < other THEN
        PERFORM lock_count(actor, true);
        PERFORM lock_count(other, is_both);
    ELSE
        PERFORM lock_count(other, is_both);
        PERFORM lock_count(actor, true);
    END IF;
END $$;
