-- How close users are to others, from what they did: hidden scores that only order. See
-- graph/affinity.py for what a rank is.

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
        -- No index holds the rank, so that raising it touches none: the room is for that.
        EXECUTE format('CREATE TABLE affinity_%s PARTITION OF affinity
                        FOR VALUES WITH (MODULUS %s, REMAINDER %s) WITH (fillfactor = 85)',
                       i, parts, i);
    END LOOP;
END $$;

-- By whom a user who goes away has to be forgotten.
CREATE INDEX affinity_other ON affinity (other_id);

-- How many others a user has there, or some more: whom the purge has to look at.
CREATE TABLE affinity_count (
    user_id bigint PRIMARY KEY,
    others  integer NOT NULL
);

CREATE INDEX affinity_crowded ON affinity_count (user_id) WHERE others > 2200;
