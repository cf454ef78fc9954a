-- An id for a row of the outbox on Citus, where each machine would have a sequence of its own.
-- Drains and watermarks read the outbox in the order of ids, so the upper bits are the time in
-- microseconds since 2020. Then follow 5 bits of the machine's number and 7 random bits. So an id
-- is unique for its source. Equal ids of two sources in a lane do no harm: the key of a webhook
-- delivery has the source too.
CREATE OR REPLACE FUNCTION next_change_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (((extract(epoch FROM clock_timestamp()) - 1577836800) * 1000000)::bigint << 12)
        | ((SELECT groupid & 31 FROM pg_catalog.pg_dist_local_group LIMIT 1)::bigint << 7)
        | floor(random() * 128)::bigint;
END $$;
