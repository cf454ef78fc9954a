-- Writes decisions about different pairs of users in one transaction, each as
-- functions/write_decision.sql does. Returns one result for each: those of that function, or 'repeated'
-- if the receipt to insert exists; then nothing of that decision is written.
--
-- `slots`: the slots of all pairs, ascending; `owners`: if an edge changes that is not the actor's, the
-- owners of all edges and counts, ascending. Decisions are in the order of their actors. So
-- transactions take all locks in one order, and do not deadlock: first pairs, then counts that exist,
-- then counts that are inserted.
CREATE OR REPLACE FUNCTION write_decisions(decisions jsonb[], slots integer[], owners bigint[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    slot integer;
    owner bigint;
    decision jsonb;
    writer bigint;
    results text[] := '{}';
BEGIN
    FOREACH slot IN ARRAY slots LOOP
        PERFORM pg_advisory_xact_lock(1, slot);
    END LOOP;
    FOREACH owner IN ARRAY owners LOOP
        PERFORM 1 FROM following_count WHERE user_id = owner FOR UPDATE;
    END LOOP;
    FOREACH decision IN ARRAY decisions LOOP
        -- Not by the unique violation, which would end the whole transaction. Requests with the same
        -- receipt are about the same pair, so none can insert it meanwhile.
        writer := decision ->> 'actor';
        IF EXISTS (
            SELECT 1 FROM receipt
            WHERE actor_id = writer AND id = (decision -> 'receipt' ->> 'id')::uuid
        ) THEN
            results := results || 'repeated'::text;
        ELSE
            results := results || write_decision(decision);
        END IF;
    END LOOP;
    RETURN results;
END $$;
