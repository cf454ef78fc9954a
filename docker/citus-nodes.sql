-- Joins the servers of compose.citus.yaml into one Citus cluster. Safe to repeat.
SELECT citus_set_coordinator_host('postgres', 5432);
SELECT citus_add_node(name, 5432) FROM (VALUES ('citus-1'), ('citus-2'), ('citus-3')) AS worker (name);
SELECT start_metadata_sync_to_all_nodes();
