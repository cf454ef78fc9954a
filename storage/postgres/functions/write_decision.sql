-- Writes a decision about two users: the edges that it changes, each with its owner's count and an
-- outbox row, and a receipt. storage/postgres/edges.py makes the parameter `decision`:
--
-- * actor, other: the two users; version, reverse_version: the versions of the actor's edge and of
--   the other user's edge that the decision was made from, 0 without a row; now: the database's
--   clock when these were read, in microseconds;
-- * begins: whether a step adds a kind or a flag;
-- * steps: the counts to change, the actor's first. Each step has the edge from `source`, the owner
--   of the count, to `target`; the edge's previous kind and flags; and `friends`, the change of the
--   number of friends. A step without a version changes no edge: it only charges the actor's rate
--   limiter.
--   `following_below`, `blocks_below` and `paced_most` are conditions on the count, and `pace_us` is
--   what the step charges. A stored `paced_until` after `paced_latest` is ignored: the clock was set
--   back since;
-- * other_following_below: the condition on the count of the other user, optional;
-- * trace: the request's `traceparent` if it is traced, optional;
-- * receipt: the receipt to insert; consumes: the id of the receipt to consume. Both are optional.
--
-- Returns 'written'; or it writes nothing and returns 'outdated' if the change must be decided
-- again, because an edge has changed or a condition does not hold, or 'consumed' if the receipt to
-- consume is consumed or deleted. Fails with a unique violation if the receipt to insert exists.
-- Needs the actor's shard and, to write the other user's edge, the other user's shard.
--
-- The included parts are in functions/parts/shared_expressions.sql.
CREATE OR REPLACE FUNCTION write_decision(decision jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d record;
    step record;
    smaller bigint;
    greater bigint;
    is_both boolean; -- whether the count of the other user is changed or has a condition
BEGIN
    SELECT * INTO d FROM jsonb_to_record(decision) AS d (
        -- include: decision_fields
    );

    is_both := jsonb_array_length(d.steps) > 1 OR d.other_following_below IS NOT NULL;

    -- No other user's row is locked, so the followers of a star do not wait for each other. Locks
    -- are held only while the server works, and not while a client does. The statements below are
    -- separate, so that their snapshots are newer than the commit of the transaction that held the
    -- lock before.
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        PERFORM pg_advisory_xact_lock(1, pair_slot(d.actor, d.other)); -- as `lock_pair` does
    ELSE
        PERFORM lock_pair(d.actor, d.other, is_both);
    END IF;

    IF NOT (
        -- include: is_current
    ) THEN
        RETURN 'outdated';
    END IF;
    -- Not in the condition above: Citus runs all subqueries of an expression, needed or not.
    IF
        -- include: begins_with_a_deleted_account
    THEN
        RETURN 'outdated';
    END IF;

    IF d.consumes IS NOT NULL THEN
        PERFORM 1 FROM receipt
        WHERE actor_id = d.actor AND id = d.consumes AND taken[1] <> -1 FOR UPDATE;
        IF NOT FOUND THEN
            RETURN 'consumed';
        END IF;
    END IF;

    IF is_both THEN
        -- In the order of ids, so that two transactions that both change two counts do not
        -- deadlock. Missing rows are inserted in this order too, because functions/write_batch.sql
        -- inserts rows of many users.
        smaller := least(d.actor, d.other);
        greater := greatest(d.actor, d.other);
        PERFORM lock_count(smaller, true);
        PERFORM lock_count(greater, true);
    END IF;
    IF d.other_following_below IS NOT NULL THEN -- nested: see above
        IF d.other_following_below <= (
            SELECT c.follows + c.whispers + c.requests FROM following_count c
            WHERE c.user_id = d.other
        ) THEN
            RETURN 'outdated';
        END IF;
    END IF;

    FOR step IN
        -- include: steps
    LOOP
        -- The count is written before its edge: storage/postgres/verification/repair.py relies on
        -- it.
        INSERT INTO following_count AS c (
            -- include: count_columns
        ) VALUES (
            -- include: count_values
        ) ON CONFLICT (user_id) DO UPDATE
        SET paced_until = coalesce(
                -- include: new_paced_until
                , c.paced_until),
            -- include: added_counts
        WHERE
            -- include: is_within_limits
        ;
        IF NOT FOUND THEN
            RETURN 'outdated'; -- nothing is written: the other steps have no conditions
        END IF;
        CONTINUE WHEN step.version IS NULL;

        INSERT INTO following AS f (
            -- include: edge_columns
        ) VALUES (
            -- include: edge_values
        ) ON CONFLICT (from_user_id, to_user_id) DO UPDATE
        -- The actor does not know when the other user's mute ends.
        SET muted_until = CASE WHEN step.source = d.actor
                               THEN excluded.muted_until ELSE f.muted_until END,
            -- include: new_edge
        ;
        INSERT INTO outbox (
            lane,
            -- include: outbox_columns
        ) VALUES (
            lane_of(step.target),
            -- include: outbox_values
        );
    END LOOP;

    IF d.receipt IS NOT NULL THEN
        INSERT INTO receipt (
            -- include: receipt_columns
        ) SELECT
            -- include: receipt_values
        FROM jsonb_to_record(d.receipt) AS r (
            -- include: receipt_fields
        );
    END IF;
    IF d.consumes IS NOT NULL THEN
        -- No edge has the version -1.
        UPDATE receipt SET taken[1] = -1, messages = NULL
        WHERE actor_id = d.actor AND id = d.consumes;
    END IF;
    RETURN 'written';
END $$;
