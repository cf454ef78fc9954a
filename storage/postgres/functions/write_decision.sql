-- Writes a decision about two users: the edges that it changes, each with its owner's count and an
-- outbox row, and a receipt. `decision` is built by storage/postgres/edges.py:
--
-- functions/write_decisions.sql does the same for many decisions: tests/integration/test_batched_edges.py
-- compares the two.
--
-- * actor, other: the two users; version, reverse_version: the versions of the actor's edge and of
--   the other user's edge that it was made from, 0 without a row; now: its clock in microseconds;
-- * begins: whether a step adds a kind or a flag;
-- * steps: the counts to change, the actor's first. Each has the edge from `source`, the count's
--   owner, to `target`, its kind and flags before, and `friends`, the change of the number of
--   friends. A step without a version changes no edge: the actor is only charged.
--   `following_below`, `blocks_below` and `paced_most` are conditions on the count, and `pace_us` is
--   the price; a `paced_until` after `paced_latest` is from before the clock was set back, and is
--   ignored;
-- * trace: the request's `traceparent` if it is traced, optional;
-- * receipt: the receipt to insert; consumes: the id of the receipt to consume. Both are optional.
--
-- Returns 'written'. If it has written nothing, returns 'outdated', when an edge has changed or a
-- condition does not hold, so that it must be decided again; or 'consumed', when the receipt to
-- consume is consumed or gone. Fails with a unique violation if the receipt to insert exists. It
-- needs the actor's shard and, to write the other user's edge, theirs.
CREATE OR REPLACE FUNCTION write_decision(decision jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d record;
    step record;
    smaller bigint;
    greater bigint;
BEGIN
    SELECT * INTO d FROM jsonb_to_record(decision) AS d (
        actor bigint, other bigint, version bigint, reverse_version bigint, now bigint,
        begins boolean, steps jsonb, receipt jsonb, consumes uuid, trace text);

    -- No other user's row is locked, so the followers of a star do not wait for each other; and no
    -- lock is held while a client works, only while the server does. The statements below are
    -- separate, so that their snapshots are newer than the commit of the lock's previous holder.
    IF to_regclass('pg_catalog.pg_dist_partition') IS NULL THEN
        PERFORM pg_advisory_xact_lock(1, pair_slot(d.actor, d.other)); -- saves calls of functions
    ELSE
        PERFORM lock_pair(d.actor, d.other, jsonb_array_length(d.steps) > 1);
    END IF;

    IF d.version <> coalesce((
        SELECT version FROM following WHERE from_user_id = d.actor AND to_user_id = d.other
    ), 0) OR d.reverse_version <> coalesce((
        SELECT version FROM following WHERE from_user_id = d.other AND to_user_id = d.actor
    ), 0) THEN
        RETURN 'outdated';
    END IF;

    -- A deleted account's edges may only end. The account may still be deleted a moment later, so
    -- an erasure waits longer than any statement takes.
    IF d.begins AND EXISTS (
        SELECT 1 FROM account WHERE user_id IN (d.actor, d.other) AND state = 2
    ) THEN
        RETURN 'outdated';
    END IF;

    IF d.consumes IS NOT NULL THEN
        PERFORM 1 FROM receipt
        WHERE actor_id = d.actor AND id = d.consumes AND taken[1] <> -1 FOR UPDATE;
        IF NOT FOUND THEN
            RETURN 'consumed';
        END IF;
    END IF;

    IF jsonb_array_length(d.steps) > 1 THEN
        -- In one order, so that two transactions that both change two counts do not deadlock. Absent
        -- rows are inserted in this order too: functions/write_decisions.sql inserts those of many users.
        smaller := least(d.actor, d.other);
        greater := greatest(d.actor, d.other);
        PERFORM lock_count(smaller, true);
        PERFORM lock_count(greater, true);
    END IF;

    FOR step IN
        SELECT * FROM jsonb_to_recordset(d.steps) AS s (
            source bigint, target bigint, kind smallint, flags smallint, since bigint,
            version bigint, previous_kind smallint, previous_flags smallint,
            friends smallint, message text, muted_until bigint, following_below integer,
            blocks_below integer, pace_us bigint, paced_most bigint,
            paced_latest bigint)
    LOOP
        -- The count before its edge: storage/postgres/verification/repair.py relies on it. `specials` counts close
        -- follows: see migrations/0011_functions.sql.
        INSERT INTO following_count AS c (user_id, follows, whispers, requests, blocks, specials,
                                          mutes, friends, paced_until)
        VALUES (step.source,
                (step.kind = 1)::integer - (step.previous_kind = 1)::integer,
                (step.kind = 2)::integer - (step.previous_kind = 2)::integer,
                (step.kind = 3)::integer - (step.previous_kind = 3)::integer,
                (step.kind = 4)::integer - (step.previous_kind = 4)::integer,
                (step.kind IN (1, 2) AND step.flags & 1 <> 0)::integer
                    - (step.previous_kind IN (1, 2) AND step.previous_flags & 1 <> 0)::integer,
                (step.flags & 2 <> 0)::integer - (step.previous_flags & 2 <> 0)::integer,
                step.friends,
                coalesce(d.now + step.pace_us, 0))
        ON CONFLICT (user_id) DO UPDATE
        SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
            requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
            specials = c.specials + excluded.specials, mutes = c.mutes + excluded.mutes,
            friends = c.friends + excluded.friends,
            paced_until = coalesce(
                CASE WHEN c.paced_until > step.paced_latest THEN d.now
                     ELSE greatest(c.paced_until, d.now) END + step.pace_us,
                c.paced_until)
        WHERE coalesce(c.follows + c.whispers + c.requests < step.following_below, true)
          AND coalesce(c.blocks < step.blocks_below, true)
          AND (coalesce(c.paced_until <= step.paced_most, true)
               OR coalesce(c.paced_until > step.paced_latest, false));
        IF NOT FOUND THEN
            RETURN 'outdated'; -- nothing is written: only the actor's step, the first, has conditions
        END IF;
        CONTINUE WHEN step.version IS NULL;

        INSERT INTO following AS f (from_user_id, to_user_id, kind, flags, since, version, message,
                                    muted_until)
        VALUES (step.source, step.target, step.kind, step.flags, step.since, step.version,
                step.message, step.muted_until)
        ON CONFLICT (from_user_id, to_user_id) DO UPDATE
        SET kind = excluded.kind, flags = excluded.flags, since = excluded.since,
            version = excluded.version,
            message = CASE WHEN f.kind = 3 AND excluded.kind = 3
                           THEN coalesce(excluded.message, f.message) ELSE excluded.message END,
            -- The actor does not know when the other user's mute ends.
            muted_until = CASE WHEN step.source = d.actor
                               THEN excluded.muted_until ELSE f.muted_until END;

        INSERT INTO outbox (lane, from_user_id, to_user_id, kind, flags, since, version, friends,
                            former, by_target, trace)
        VALUES (lane_of(step.target), step.source, step.target, step.kind, step.flags, step.since,
                step.version, step.friends, step.previous_kind + 16 * step.previous_flags,
                step.source <> d.actor, d.trace);
    END LOOP;

    IF d.receipt IS NOT NULL THEN
        INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, taken, messages)
        SELECT d.actor, r.id, d.other, d.now, r.digest, r.outcome, r.undo, r.messages
        FROM jsonb_to_record(d.receipt) AS r (
            id uuid, digest bytea, outcome text, undo bigint[], messages text[]);
    END IF;
    IF d.consumes IS NOT NULL THEN
        -- No edge has the version -1.
        UPDATE receipt SET taken[1] = -1, messages = NULL
        WHERE actor_id = d.actor AND id = d.consumes;
    END IF;
    RETURN 'written';
END $$;
