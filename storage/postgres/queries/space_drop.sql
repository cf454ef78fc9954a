-- name: connections
-- The number of connections whose `application_name` is $1, which the pools of a space set. Those
-- that ran a statement in the last 10 s are in use.
-- shard: local
SELECT count(*)::integer AS all, (count(*) FILTER (
    WHERE state <> 'idle' OR state_change > now() - interval '10 seconds'
))::integer AS in_use
FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1

-- name: foreign_tables
-- The tables, views and sequences in the schema $1 except the tables $2, their partitions and their
-- sequences.
-- shard: local
SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT c.relispartition
    AND c.relname <> ALL ($2::text[])
    AND NOT EXISTS (
        SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
            AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
    )
ORDER BY c.relname

-- name: own_functions
-- The functions in the schema $1 that its table `function` names.
-- shard: local
SELECT p.oid::regprocedure::text AS signature
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = $1 AND p.proname IN (SELECT name FROM function)
