-- How close users are to others, from their interactions: hidden scores that only order lists.
-- graph/affinity.py defines a rank.

CREATE TABLE affinity (
    user_id  bigint           NOT NULL CHECK (user_id > 0),
    other_id bigint           NOT NULL CHECK (other_id > 0 AND other_id <> user_id),
    rank     double precision NOT NULL,
    PRIMARY KEY (user_id, other_id)
) PARTITION BY HASH (user_id);

DO $$
DECLARE
    parts integer := coalesce(nullif(current_setting('kith.partitions', true), ''), '16')::integer;
BEGIN
    FOR i IN 0 .. parts - 1 LOOP
        -- No index contains the rank, so an update of it changes no index if the page has room.
        EXECUTE format('CREATE TABLE affinity_%s PARTITION OF affinity
                        FOR VALUES WITH (MODULUS %s, REMAINDER %s) WITH (fillfactor = 85)',
                       i, parts, i);
    END LOOP;
END $$;

-- For the erasure of a deleted user.
CREATE INDEX affinity_other ON affinity (other_id);

-- An upper bound of a user's number of rows there, for the purge.
CREATE TABLE affinity_count (
    user_id bigint PRIMARY KEY,
    others  integer NOT NULL
);

CREATE INDEX affinity_crowded ON affinity_count (user_id) WHERE others > 2200;
