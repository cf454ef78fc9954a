-- Fewer lanes, and an outbox that is swept clean more often.

-- There were 64 lanes: what waits goes on in one of 8, where later changes of its pair will come.
UPDATE outbox SET lane = lane % 8;

-- Every drain begins at the head of its lane and steps over the index entries of all that was
-- deleted since the last vacuum: after 120,000 changes, ten times what an empty lane costs. The
-- table is small, so its vacuum need not be slow; and it grows again at once, so giving pages back
-- to the file system would only lock it.
ALTER TABLE outbox SET (
    autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off
);
