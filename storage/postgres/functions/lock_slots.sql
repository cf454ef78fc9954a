-- Locks all pairs whose slots are from `first` to `last` until the transaction ends: on Citus, on
-- every machine, because functions/lock_pair.sql locks a pair on the machine of one of its users.
CREATE OR REPLACE FUNCTION lock_slots(first integer, last integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    shards bigint[];
    user_on_machine bigint;
BEGIN
    IF NOT hold_shard(1) THEN
        PERFORM pg_advisory_xact_lock(1, slot) FROM generate_series(first, last) AS slot;
        RETURN;
    END IF;
    shards := ARRAY(
        SELECT shardid FROM pg_catalog.pg_dist_shard
        WHERE logicalrelid = 'following_count'::regclass ORDER BY shardid
    );
    PERFORM lock_shard_metadata(5, shards);
    -- One user of each machine, found by trying ids: 40 ids for each shard miss no machine.
    FOR user_on_machine IN
        SELECT min(user_id)
        FROM generate_series(1, 40 * cardinality(shards)::bigint) AS user_id
        JOIN pg_catalog.pg_dist_placement p
          ON p.shardid = get_shard_id_for_distribution_column('following_count', user_id)
        GROUP BY p.groupid ORDER BY p.groupid
    LOOP
        PERFORM pg_advisory_xact_lock(1, slot)
        FROM generate_series(first, last) AS slot
        LEFT JOIN (
            SELECT 1 FROM following_count WHERE user_id = user_on_machine AND follows < -1 FOR KEY SHARE
        ) c ON true;
    END LOOP;
END $$;
