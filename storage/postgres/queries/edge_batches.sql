-- name: read_ends
-- Both ends of the pairs of $1 and $2, in the columns of pair_states.py: see
-- functions/read_ends.sql. Four probes for each end.
-- shard: plain (edges.read_pair)
SELECT e.*, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM read_ends($1::bigint[], $2::bigint[]) e

-- name: write_batch
-- Writes decisions about different pairs in one transaction: see functions/write_batch.sql.
-- shard: plain (edges.write_decision)
SELECT write_batch($1::text[]::jsonb[]) AS results
