-- Whispers, requests, blocks, mutes, close follows and accounts.

-- Read by the edge's owner and, for a request's message, by its target. NULL for nearly every row.
ALTER TABLE following
    ADD COLUMN message     text, -- of a request
    ADD COLUMN muted_until bigint; -- milliseconds; NULL: without an end

CREATE INDEX following_special ON following (from_user_id, since DESC, to_user_id DESC)
    WHERE flags & 1 <> 0 AND kind IN (1, 2);
CREATE INDEX following_muted ON following (from_user_id, since DESC, to_user_id DESC)
    WHERE flags & 2 <> 0;
CREATE INDEX following_mute_end ON following (muted_until) WHERE muted_until IS NOT NULL;

-- One number for each kind, so that every total equals the list that its reader can page through.
ALTER TABLE following_count
    ADD COLUMN whispers    integer NOT NULL DEFAULT 0,
    ADD COLUMN requests    integer NOT NULL DEFAULT 0,
    ADD COLUMN blocks      integer NOT NULL DEFAULT 0,
    ADD COLUMN specials    integer NOT NULL DEFAULT 0,
    ADD COLUMN mutes       integer NOT NULL DEFAULT 0,
    ADD COLUMN paced_until bigint  NOT NULL DEFAULT 0; -- microseconds: see graph/pace.py
ALTER TABLE follower_count
    ADD COLUMN whispers bigint NOT NULL DEFAULT 0,
    ADD COLUMN requests bigint NOT NULL DEFAULT 0,
    ADD COLUMN blocks   bigint NOT NULL DEFAULT 0;

-- For the event of a change.
ALTER TABLE outbox
    ADD COLUMN former    smallint NOT NULL DEFAULT 0, -- kind + 16 * flags before
    ADD COLUMN by_target boolean  NOT NULL DEFAULT false; -- to_user_id has made the change

-- Before, there were only follows, so every waiting change that ends an edge ends a follow.
UPDATE outbox SET former = 1 WHERE kind = 0;

-- Account settings and states. No row: the defaults. Audiences: 0 everyone, 1 followers, 2 friends,
-- 3 only me; state: 0 active, 1 deactivated, 2 deleted.
CREATE TABLE account (
    user_id            bigint   PRIMARY KEY CHECK (user_id > 0),
    protected          boolean  NOT NULL DEFAULT false,
    following_audience smallint NOT NULL DEFAULT 0 CHECK (following_audience BETWEEN 0 AND 3),
    followers_audience smallint NOT NULL DEFAULT 0 CHECK (followers_audience BETWEEN 0 AND 3),
    following_limit    integer  CHECK (following_limit >= 0),
    state              smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 2)
);

-- A gateway of the previous version ignores blocks, requests and protection, so its writes must fail
-- from here on.
DROP FUNCTION write_change;

-- Writes the steps of one decision: one edge of the actor's, one of the other's, or both, each with
-- its owner's count and an outbox row, if both directions still have the versions that the decision
-- was made from (0: no row), and its conditions hold. Returns whether it wrote. Replaced by
-- functions/write_decision.sql.
--
-- The pair's lock (class and slot) orders all changes between the two users. No other user's row is
-- locked, so followers of a star do not wait for each other.
CREATE FUNCTION write_steps(
    class integer, slot integer, actor bigint, other bigint, was bigint, back_was bigint,
    following_below integer, blocks_below integer, pace_us bigint, paced_most bigint, now_us bigint,
    turned boolean[], kinds smallint[], marks smallint[], sinces bigint[], versions bigint[],
    formers smallint[], lanes smallint[], messages text[], mute_ends bigint[],
    follows integer[], whispers integer[], requests integer[], blocks integer[],
    specials integer[], mutes integer[], friends smallint[]
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    step record;
BEGIN
    PERFORM pg_advisory_xact_lock(class, slot);
    -- A separate statement, so that its snapshot is newer than the lock's previous holder.
    IF was <> coalesce((
        SELECT version FROM following WHERE from_user_id = actor AND to_user_id = other
    ), 0) OR back_was <> coalesce((
        SELECT version FROM following WHERE from_user_id = other AND to_user_id = actor
    ), 0) THEN
        RETURN false;
    END IF;
    IF true = ANY (turned) THEN
        -- In one order, so that two transactions that both change two counts do not deadlock.
        PERFORM FROM following_count
        WHERE user_id IN (actor, other) ORDER BY user_id FOR UPDATE;
    END IF;
    IF pace_us > 0 AND true = ALL (turned) THEN
        -- None of the actor's edges changes, but the actor makes the change and pays for it.
        INSERT INTO following_count AS c (user_id, paced_until) VALUES (actor, now_us + pace_us)
        ON CONFLICT (user_id) DO UPDATE SET paced_until = greatest(c.paced_until, now_us) + pace_us
        WHERE c.paced_until <= paced_most;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    FOR step IN
        SELECT CASE WHEN turned THEN other ELSE actor END AS source,
               CASE WHEN turned THEN actor ELSE other END AS target, s.*
        FROM unnest(turned, kinds, marks, sinces, versions, formers, lanes, messages, mute_ends,
                    follows, whispers, requests, blocks, specials, mutes, friends)
          AS s (turned, kind, flags, since, version, former, lane, message, mute_end,
                follows, whispers, requests, blocks, specials, mutes, friends)
        ORDER BY turned -- the actor's first: only it has conditions
    LOOP
        WITH own AS (
            INSERT INTO following_count AS c (user_id, follows, whispers, requests, blocks,
                                              specials, mutes, friends, paced_until)
            VALUES (step.source, step.follows, step.whispers, step.requests, step.blocks,
                    step.specials, step.mutes, step.friends,
                    CASE WHEN step.turned OR pace_us = 0 THEN 0 ELSE now_us + pace_us END)
            ON CONFLICT (user_id) DO UPDATE
            SET follows = c.follows + excluded.follows,
                whispers = c.whispers + excluded.whispers,
                requests = c.requests + excluded.requests,
                blocks = c.blocks + excluded.blocks,
                specials = c.specials + excluded.specials,
                mutes = c.mutes + excluded.mutes,
                friends = c.friends + excluded.friends,
                paced_until = CASE WHEN step.turned OR pace_us = 0 THEN c.paced_until
                                   ELSE greatest(c.paced_until, now_us) + pace_us END
            WHERE step.turned OR (
                (following_below IS NULL OR c.follows + c.whispers + c.requests < following_below)
                AND (blocks_below IS NULL OR c.blocks < blocks_below)
                AND (pace_us = 0 OR c.paced_until <= paced_most))
            RETURNING user_id
        ), edge AS ( -- from `own`, so that a count is locked before its edges, as a repair expects
            INSERT INTO following AS f (from_user_id, to_user_id, kind, flags, since, version,
                                        message, muted_until)
            SELECT user_id, step.target, step.kind, step.flags, step.since, step.version,
                   step.message, step.mute_end
            FROM own
            ON CONFLICT (from_user_id, to_user_id) DO UPDATE
            SET kind = excluded.kind, flags = excluded.flags, since = excluded.since,
                version = excluded.version,
                message = CASE WHEN f.kind = 3 AND excluded.kind = 3
                               THEN coalesce(excluded.message, f.message)
                               ELSE excluded.message END,
                muted_until = CASE WHEN step.turned THEN f.muted_until
                                   ELSE excluded.muted_until END
        )
        INSERT INTO outbox (lane, from_user_id, to_user_id, kind, flags, since, version, friends,
                            former, by_target)
        SELECT step.lane, user_id, step.target, step.kind, step.flags, step.since, step.version,
               step.friends, step.former, step.turned
        FROM own;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;
