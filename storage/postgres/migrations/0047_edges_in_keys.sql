-- The primary keys of the edges hold whole edges: one index answers a probe of a pair, and one range of
-- it all edges of a user. In a table that was filled write by write, each row of a user is in a block
-- of its own. An index answers alone for the blocks that VACUUM has marked as visible to all, so new
-- rows are vacuumed early.
--
-- A primary key that is built here locks its table meanwhile. For large tables, build the indexes
-- `following_0_edge`, … before (docs/deployment.md): they become the keys of their partitions.

DO $$
DECLARE
    edges record;
    part text;
BEGIN
    FOR edges IN VALUES ('following', 'from_user_id, to_user_id'), ('follower', 'to_user_id, from_user_id')
    LOOP
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', edges.column1, edges.column1 || '_pkey');
        FOR part IN
            SELECT relname FROM pg_class
            WHERE relkind = 'r' AND (oid = edges.column1::regclass
                OR oid IN (SELECT relid FROM pg_partition_tree(edges.column1::regclass)))
        LOOP
            EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_insert_scale_factor = 0.02)', part);
            CONTINUE WHEN to_regclass(part || '_edge') IS NULL;
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY USING INDEX %I',
                           part, part || '_pkey', part || '_edge');
        END LOOP;
        CONTINUE WHEN to_regclass(edges.column1 || '_pkey') IS NOT NULL;
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (%s) INCLUDE (kind, flags, since, version)',
                       edges.column1, edges.column1 || '_pkey', edges.column2);
    END LOOP;
END $$;
