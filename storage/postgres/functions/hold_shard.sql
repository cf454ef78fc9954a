-- Returns whether the space is on Citus. If it is, prevents that the shard of the user `place`
-- moves to another machine before the transaction ends, because advisory locks do not move with it:
-- see functions/lock_at.sql.
CREATE OR REPLACE FUNCTION hold_shard(place bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- The statement after this one would fail without that table.
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        RETURN false;
    END IF;
    PERFORM 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = 'following_count'::regclass;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- 5 is ShareLock: a move takes an exclusive one.
    PERFORM lock_shard_metadata(
        5, ARRAY[get_shard_id_for_distribution_column('following_count', place)]);
    RETURN true;
END $$;
