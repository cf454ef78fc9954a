-- name: add_slice
-- Inserts the slice $3 of the upload $2 for the operation $1: one row with up to 200 lines.
-- shard: $1
INSERT INTO bulk_slice (operation_key, upload, number, first_line, lines, uploaded_at)
VALUES ($1, $2, $3, $4, $5::text[], (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)

-- name: start
-- Inserts the operation $1 with its uploaded slices, unless it exists: one row.
-- shard: $1
INSERT INTO bulk_operation (operation_key, service, id, digest, upload, per_second,
                            ignores_rate_limit, columns, lines, slices, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text[], $9, $10,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
ON CONFLICT (operation_key) DO NOTHING

-- name: find
-- The operation $1: a probe.
-- shard: $1
SELECT service, id, digest, upload, per_second, ignores_rate_limit, columns, lines, slices, state,
       changed, unchanged, rejected, created_at, started_at, ended_at
FROM bulk_operation WHERE operation_key = $1

-- name: delete_slices
-- Deletes up to 1,000 slices of the upload $2 for the operation $1. Returns the number of rows.
-- shard: $1
WITH gone AS (
    DELETE FROM bulk_slice
    WHERE operation_key = $1 AND upload = $2 AND number IN (
        SELECT number FROM bulk_slice WHERE operation_key = $1 AND upload = $2
        ORDER BY number LIMIT 1000
    )
    RETURNING 1
)
SELECT count(*)::integer AS count FROM gone

-- name: cancel
-- Cancels the operation $1: at once, or after the slice that a worker has begun. Deletes the lines
-- that are not applied. One row, and one for each of up to 10,000 slices; none if it has ended.
-- shard: $1
WITH moment AS MATERIALIZED ( -- Citus rejects functions of the time in CASE and coalesce
    SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at
), canceled AS (
    UPDATE bulk_operation
    SET state = CASE WHEN begun > done THEN 2 ELSE 3 END,
        ended_at = CASE WHEN begun > done THEN NULL ELSE moment.at END
    FROM moment
    WHERE operation_key = $1 AND state < 2
    RETURNING operation_key, upload, begun, state
), cleared AS (
    UPDATE bulk_slice AS s SET lines = NULL
    FROM canceled AS c
    WHERE s.operation_key = $1 AND c.operation_key = s.operation_key AND s.upload = c.upload
        AND s.number >= c.begun
)
SELECT state FROM canceled

-- name: find_open
-- Up to $1 operations that have not ended and that no worker applies: first those that were never
-- applied, then those that have waited longest. Reads those that have not ended, which are few.
-- shard: fan-out
SELECT operation_key FROM bulk_operation
WHERE state < 3 AND leased_until < (extract(epoch FROM now()) * 1000000)::bigint
ORDER BY leased_until, created_at LIMIT $1

-- name: count_open
-- The number of operations that have not ended, up to $1.
-- shard: fan-out
SELECT count(*)::integer AS count FROM (
    SELECT 1 FROM bulk_operation WHERE state < 3 LIMIT $1
) AS open

-- name: begin_slice
-- Leases the operation $1 to the worker $2 for $3 microseconds, and begins its next slice: one row;
-- none if another worker has it, or it has ended.
-- shard: $1
WITH moment AS MATERIALIZED ( -- Citus rejects functions of the time in CASE and coalesce
    SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at
)
UPDATE bulk_operation
SET state = CASE WHEN state = 0 THEN 1 ELSE state END, begun = done + 1, is_repeated = begun > done,
    lease = $2, leased_until = moment.at + $3::bigint, started_at = coalesce(started_at, moment.at)
FROM moment
WHERE operation_key = $1 AND state < 3 AND (lease = $2 OR leased_until < moment.at)
RETURNING service, id, digest, upload, per_second, ignores_rate_limit, columns, lines, slices, state,
          changed, unchanged, rejected, created_at, started_at, ended_at, done, is_repeated

-- name: read_slice
-- The slice $3 of the upload $2 for the operation $1: a probe.
-- shard: $1
SELECT first_line, lines FROM bulk_slice
WHERE operation_key = $1 AND upload = $2 AND number = $3

-- name: finish_slice
-- Stores the results $4 of the slice $3 of the operation $1, of which $5 lines have changed
-- something, $6 nothing, and $7 were rejected, if the worker $2 still has its lease. Two rows.
-- Returns the state of the operation.
-- shard: $1
WITH moment AS MATERIALIZED ( -- Citus rejects functions of the time in CASE and coalesce
    SELECT (extract(epoch FROM now()) * 1000000)::bigint AS at
), finished AS (
    UPDATE bulk_operation
    SET done = done + 1, changed = changed + $5, unchanged = unchanged + $6,
        rejected = rejected + $7,
        state = CASE WHEN done + 1 = slices THEN 4 WHEN state = 2 THEN 3 ELSE state END,
        ended_at = CASE WHEN done + 1 = slices OR state = 2 THEN moment.at END
    FROM moment
    WHERE operation_key = $1 AND lease = $2 AND done = $3 AND state < 3
    RETURNING operation_key, upload, state
)
UPDATE bulk_slice AS s SET lines = NULL, results = $4
FROM finished AS f
WHERE s.operation_key = $1 AND f.operation_key = s.operation_key AND s.upload = f.upload
    AND s.number = $3
RETURNING f.state

-- name: release
-- Ends the lease of the worker $2 on the operation $1.
-- shard: $1
UPDATE bulk_operation SET leased_until = (extract(epoch FROM now()) * 1000000)::bigint
WHERE operation_key = $1 AND lease = $2

-- name: read_results
-- The results of up to $4 slices from number $3 of the upload $2 for the operation $1, in order.
-- shard: $1
SELECT number, results FROM bulk_slice
WHERE operation_key = $1 AND upload = $2 AND number >= $3 AND results IS NOT NULL
ORDER BY number LIMIT $4

-- name: find_ended
-- Up to $2 operations that ended more than $1 seconds ago, the earliest first.
-- shard: fan-out
SELECT operation_key, upload FROM bulk_operation
WHERE state >= 3 AND ended_at < ((extract(epoch FROM now()) - $1::double precision) * 1000000)::bigint
ORDER BY ended_at LIMIT $2

-- name: find_abandoned
-- Up to $2 uploads that began more than $1 seconds ago and were not completed. Reads the first
-- slices of the uploads that are kept.
-- shard: fan-out
SELECT s.operation_key, s.upload FROM bulk_slice s
WHERE s.number = 0
    AND s.uploaded_at < ((extract(epoch FROM now()) - $1::double precision) * 1000000)::bigint
    AND NOT EXISTS (
        SELECT 1 FROM bulk_operation o
        WHERE o.operation_key = s.operation_key AND o.upload = s.upload
    )
ORDER BY s.uploaded_at LIMIT $2

-- name: delete_operation
-- Deletes the operation $1 of the upload $2.
-- shard: $1
DELETE FROM bulk_operation WHERE operation_key = $1 AND upload = $2

-- name: find_unpublished
-- Up to $1 operations that have ended and whose event was not published, the earliest first.
-- shard: fan-out
SELECT service, id, digest, upload, per_second, ignores_rate_limit, columns, lines, slices, state,
       changed, unchanged, rejected, created_at, started_at, ended_at
FROM bulk_operation WHERE state >= 3 AND announced_at IS NULL ORDER BY ended_at LIMIT $1

-- name: new_delivery_id
-- A new id for a delivery that is not about a change. No row of the outbox gets this id.
-- shard: plain
SELECT nextval(pg_get_serial_sequence('outbox', 'id')) AS id

-- name: new_delivery_id_on_citus
-- shard: local
SELECT next_change_id() AS id

-- name: mark_published
-- Records that the event $4 of the end of the operation $1, with the upload $2, was published, and
-- inserts a delivery with the id $3 for each endpoint of a webhook that receives it.
-- shard: fan-out
WITH marked AS (
    UPDATE bulk_operation SET announced_at = (extract(epoch FROM now()) * 1000000)::bigint
    WHERE operation_key = $1 AND upload = $2 AND announced_at IS NULL
    RETURNING operation_key
)
INSERT INTO webhook_delivery (endpoint, change_id, target_id, source_id, since, version, kind, flags,
                              former, by_target, operation)
SELECT e.name, $3::bigint, a.operation_key, 0, 0, 0, 0, 0, 0, false, $4::text::jsonb
FROM marked a
JOIN webhook_endpoint e ON 'BULK_OPERATION_ENDED' = ANY (e.types)
WHERE e.state <> 2
