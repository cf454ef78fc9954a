-- Whether the space is on Citus. If it is, keeps the shard of a user on its machine until the
-- transaction ends, because locks do not move with a shard: see functions/lock_at.sql.
CREATE OR REPLACE FUNCTION hold_shard(place bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- The next statement is only parsed where there is such a table.
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
