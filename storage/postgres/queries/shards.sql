-- The shards of a space on Citus. A shard group is the shards, one of each table, with the same
-- users.

-- name: shard_groups
-- Each shard group by the number of its shard of `following`: the range of hashes of its users, its
-- machine, and its bytes. Asks all machines for the sizes.
-- shard: local
SELECT min(s.shardid) FILTER (WHERE t.relname = 'following') AS shard_id,
       s.shardminvalue::integer AS first_hash, s.shardmaxvalue::integer AS last_hash,
       c.nodename || ':' || c.nodeport AS node, sum(c.shard_size)::bigint AS bytes
FROM pg_dist_shard s
JOIN pg_class t ON t.oid = s.logicalrelid
JOIN citus_shards c ON c.shardid = s.shardid
WHERE t.relnamespace = current_schema()::regnamespace AND s.shardminvalue IS NOT NULL
GROUP BY s.shardminvalue, s.shardmaxvalue, c.nodename, c.nodeport
ORDER BY first_hash

-- name: edges
-- PostgreSQL's estimates of the rows of both directions, by the first hash of the shard group.
-- shard: local
SELECT s.shardminvalue::integer AS first_hash, sum(r.result::bigint)::bigint AS edges
FROM unnest(ARRAY['following', 'follower']) AS t (name)
CROSS JOIN LATERAL run_command_on_shards(
    t.name::regclass,
    'SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = ''%s''::regclass'
) r
JOIN pg_dist_shard s ON s.shardid = r.shardid
WHERE r.success
GROUP BY s.shardminvalue

-- name: whales
-- The $1 users with the most edges to them. Reads the counts of all users.
-- shard: fan-out
SELECT user_id, follows + whispers + requests + blocks AS edges
FROM follower_count ORDER BY edges DESC, user_id LIMIT $1

-- name: shard_of
-- The shard of `following` of the user $1.
-- shard: local
SELECT get_shard_id_for_distribution_column('following'::text::regclass, $1::bigint) AS shard_id

-- name: try_isolation
-- Takes the lock $1 of isolations in the database until the session ends, unless another isolation
-- holds it. Returns whether the lock was taken. Only the coordinator isolates users, so a lock on
-- this machine suffices.
-- shard: local
SELECT pg_try_advisory_lock($1, 0) AS held

-- name: isolate
-- Moves the rows of the user $1 into a shard group of their own, and the other users of the group
-- into two more, while writes go on. Returns the number of the new shard of `following`.
-- shard: local
SELECT isolate_tenant_to_new_shard('following'::text::regclass, $1::bigint, 'CASCADE') AS shard_id

-- name: identify_new_shards
-- Until `reset_identity` runs, each machine gives a new shard of the space REPLICA IDENTITY FULL
-- when the shard is created. Citus adds the primary keys of new shards after its replication slot,
-- and an update or a deletion that is decoded between them cannot be applied to a shard without an
-- identity: Citus would repeat it forever. Returns what failed. Only a superuser can create an
-- event trigger.
-- shard: local
SELECT result FROM run_command_on_all_nodes(format($command$
    DO $do$ BEGIN
        SET LOCAL citus.enable_ddl_propagation = off;
        CREATE OR REPLACE FUNCTION %1$I.identify_new_shard() RETURNS event_trigger
        LANGUAGE plpgsql AS $function$
        DECLARE made record;
        BEGIN
            FOR made IN
                SELECT object_identity AS name FROM pg_event_trigger_ddl_commands()
                WHERE object_type = 'table' AND schema_name = %1$L AND object_identity ~ '_[0-9]+$'
            LOOP
                EXECUTE format('ALTER TABLE %%s REPLICA IDENTITY FULL', made.name);
            END LOOP;
        END $function$;
        DROP EVENT TRIGGER IF EXISTS %2$I;
        CREATE EVENT TRIGGER %2$I ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
            EXECUTE FUNCTION %1$I.identify_new_shard();
    END $do$
$command$, current_schema(), left('kith_shards_' || current_schema(), 63)))
WHERE NOT success LIMIT 1

-- name: reset_identity
-- Removes what `identify_new_shards` has created, and gives all shards of the space the usual
-- identity, their primary key. It does not wait for a shard longer than a second. Returns what
-- failed.
-- shard: local
SELECT result FROM run_command_on_all_nodes(format($command$
    DO $do$
    DECLARE one record;
    BEGIN
        SET LOCAL citus.enable_ddl_propagation = off;
        SET LOCAL citus.show_shards_for_app_name_prefixes = '*';
        SET LOCAL citus.enable_manual_changes_to_shards = on;
        SET LOCAL lock_timeout = '1s';
        DROP EVENT TRIGGER IF EXISTS %2$I;
        DROP FUNCTION IF EXISTS %1$I.identify_new_shard();
        FOR one IN
            SELECT oid::regclass AS name FROM pg_class
            WHERE relnamespace = %1$L::regnamespace AND relkind = 'r' AND relreplident = 'f'
            ORDER BY oid
        LOOP
            EXECUTE format('ALTER TABLE %%s REPLICA IDENTITY DEFAULT', one.name);
        END LOOP;
    END $do$
$command$, current_schema(), left('kith_shards_' || current_schema(), 63)))
WHERE NOT success LIMIT 1

-- name: failed_applies
-- How often any machine could not apply a change to the new shards. Citus repeats it forever.
-- shard: local
SELECT coalesce(sum(result::bigint), 0)::bigint AS failed FROM run_command_on_all_nodes($command$
    SELECT coalesce(sum(t.apply_error_count), 0) FROM pg_stat_subscription_stats t
    JOIN pg_subscription s ON s.oid = t.subid
    WHERE s.subname LIKE 'citus\_shard\_split\_subscription%'
      AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
$command$)
WHERE success
