-- An event when a bulk operation ends, and no texts of lines that are never applied.

-- When the event of the end was published, in microseconds. NULL: not yet. Operations that have ended
-- before this version have no event.
ALTER TABLE bulk_operation ADD COLUMN announced_at bigint;

UPDATE bulk_operation SET announced_at = ended_at WHERE state >= 3;

CREATE INDEX bulk_operation_unannounced ON bulk_operation (ended_at)
    WHERE state >= 3 AND announced_at IS NULL;

-- Lines of canceled operations that were not applied.
UPDATE bulk_slice AS s SET lines = NULL
FROM bulk_operation AS o
WHERE o.operation_key = s.operation_key AND o.upload = s.upload AND o.state = 3
    AND s.lines IS NOT NULL;

-- An event that is not about a change: the fields of graph.bulk.BulkEnd. Its target is the number of
-- the operation, and the other columns of the change are 0.
ALTER TABLE webhook_delivery ADD COLUMN operation jsonb;
