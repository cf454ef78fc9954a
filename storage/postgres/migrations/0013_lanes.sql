-- The number of lanes becomes a setting of the space; probes of its lag; slices of a verification.

-- A row's lane depends on its target and this number: see functions/lane_of.sql. A power of two, so
-- that the lanes of equal numbers modulo 8 have the same users, whatever the number is. Without a row: 8.
CREATE TABLE lane_count (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    lanes   smallint NOT NULL CHECK (lanes IN (8, 16, 32, 64, 128, 256))
);

-- Parked changes of lane n move from lane n + 8 to lane n + 256. Workers of the previous version
-- still park in n + 8: as these rows are applied, workers of this version publish them there.
UPDATE outbox SET lane = lane + 248 WHERE lane BETWEEN 8 AND 15;

-- The last canary of each lane: a change that belongs to no user. Times in microseconds.
CREATE TABLE canary (
    lane        smallint PRIMARY KEY,
    written_at  bigint   NOT NULL,
    answered_at bigint, -- `written_at` of the last one that has reached the caches
    took        bigint -- how long that one took
) WITH (fillfactor = 50);

-- The position and the findings of the verification in slices, and the result of the last complete
-- one. Times in microseconds.
CREATE TABLE verification (
    is_only          boolean  PRIMARY KEY DEFAULT true CHECK (is_only),
    phase            smallint NOT NULL DEFAULT 0,
    owner_id         bigint   NOT NULL DEFAULT -9223372036854775808,
    other_id         bigint   NOT NULL DEFAULT -9223372036854775808,
    compared         bigint   NOT NULL DEFAULT 0,
    drifts           jsonb    NOT NULL DEFAULT '{}', -- their numbers by kind
    slices           bigint   NOT NULL DEFAULT 0,
    completed_at     bigint, -- NULL: none was completed
    completed_drifts jsonb    NOT NULL DEFAULT '{}'
);
