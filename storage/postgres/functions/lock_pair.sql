-- Makes other changes between two users wait until the transaction ends: see
-- storage/postgres/connection/locks.py. `is_both`: edges of both users change.
--
-- On Citus, a lock that is on another machine than the rows that it protects is released before the
-- other machine has committed the rows. So the count rows of both users are locked too, in the
-- order of ids: the transaction that gets these locks sees the rows of the transaction that held
-- them before. Unless `is_both`, the count row of `other` is locked FOR SHARE, so the followers of
-- a star do not wait for each other.
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
