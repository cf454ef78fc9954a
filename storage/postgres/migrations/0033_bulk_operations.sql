-- Bulk operations of services: their lines in slices, and the results of the slices.

-- Placed by a digest of the service and the id, so that one machine has all rows of an operation.
-- Times are in microseconds.
CREATE TABLE bulk_operation (
    operation_key      bigint   PRIMARY KEY,
    service            text     NOT NULL, -- the client of the token that has started it
    id                 text     NOT NULL, -- chosen by the service
    digest             bytea    NOT NULL, -- of the lines and the options
    upload             uuid     NOT NULL,
    per_second         integer, -- NULL: as fast as a worker can
    ignores_rate_limit boolean  NOT NULL,
    columns            text[], -- the fields of CSV lines; NULL: the lines are JSON
    lines              integer  NOT NULL,
    slices             integer  NOT NULL,
    state              smallint NOT NULL DEFAULT 0, -- graph.bulk.BulkState
    begun              integer  NOT NULL DEFAULT 0, -- slices that a worker has begun
    done               integer  NOT NULL DEFAULT 0, -- slices with results
    is_repeated        boolean  NOT NULL DEFAULT false, -- whether the slice in work was begun before
    changed            integer  NOT NULL DEFAULT 0,
    unchanged          integer  NOT NULL DEFAULT 0,
    rejected           integer  NOT NULL DEFAULT 0,
    lease              uuid, -- of the worker that applies it
    leased_until       bigint   NOT NULL DEFAULT 0,
    created_at         bigint   NOT NULL,
    started_at         bigint,
    ended_at           bigint
) WITH (fillfactor = 50);

-- The operations that workers have to apply, and those for the purge.
CREATE INDEX bulk_operation_open  ON bulk_operation (created_at) WHERE state < 3;
CREATE INDEX bulk_operation_ended ON bulk_operation (ended_at) WHERE state >= 3;

CREATE TABLE bulk_slice (
    operation_key bigint  NOT NULL,
    upload        uuid    NOT NULL,
    number        integer NOT NULL, -- from 0
    first_line    integer NOT NULL, -- the number of its first line, from 1
    lines         text[], -- NULL: applied
    results       bytea, -- NDJSON; NULL: not applied
    uploaded_at   bigint  NOT NULL,
    PRIMARY KEY (operation_key, upload, number)
);

-- For the purge of uploads that were not completed.
CREATE INDEX bulk_slice_uploaded ON bulk_slice (uploaded_at) WHERE number = 0;
