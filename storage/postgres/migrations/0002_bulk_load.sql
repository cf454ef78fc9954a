-- The lock that bulk loads share with writers, and the progress of bulk loads.

-- The slot of the advisory lock that orders all changes between two users, in either order: the
-- same as `locks.pair_key`, so that a load can lock every pair that it is about to write.
CREATE FUNCTION pair_slot(a bigint, b bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (a % 4093 + b % 4093) % 4093;

-- The progress of loads that have begun and not ended. Loading is safe to repeat, so this only saves
-- time.
CREATE TABLE bulk_load (
    file       text        PRIMARY KEY, -- a hash of its content
    lines      bigint      NOT NULL DEFAULT 0,
    loaded     bigint      NOT NULL DEFAULT 0,
    present    bigint      NOT NULL DEFAULT 0,
    bad        bigint      NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL DEFAULT now()
);
