-- Fewer lanes, and an outbox that is vacuumed more often.

-- There were 64 lanes. Waiting changes move to one of 8, to which later changes of their pairs go.
UPDATE outbox SET lane = lane % 8;

-- Every drain begins at the head of its lane and steps over the index entries of all rows deleted
-- since the last vacuum: after 120,000 changes, this costs ten times as much as an empty lane. The
-- table is small, so its vacuum need not be slow. It grows again at once, so returning pages to the
-- file system would only lock it.
ALTER TABLE outbox SET (
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off
);
