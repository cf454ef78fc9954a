-- Writes decisions about different pairs of users in one transaction, with the results of
-- functions/write_decision.sql: 'written', 'outdated' or 'consumed'; or 'repeated' if the receipt to
-- insert exists. A decision that is not 'written' has written nothing. Returns the results of `batch`
-- and then those of `others`. Both are built by storage/postgres/edge_batches.py:
--
-- * batch: decisions that change at most the actor's own edge, flat, each with its place. They are
--   written by one statement, which costs a third of one call for each. If the conditions of a user's
--   decisions might not all hold, none of this user's is written: they are 'outdated';
-- * others: the parameters of functions/write_decision.sql;
-- * slots: the slots of all pairs, ascending; owners: if there are others, the users whose counts
--   change, ascending.
--
-- So transactions take all locks in one order, and do not deadlock: first pairs, then counts, in the
-- order of their users.
-- shard: plain
CREATE OR REPLACE FUNCTION write_decisions(
    batch jsonb, others jsonb[], slots integer[], owners bigint[]
) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    slot integer;
    owner bigint;
    decision jsonb;
    results text[];
BEGIN
    FOREACH slot IN ARRAY slots LOOP
        PERFORM pg_advisory_xact_lock(1, slot);
    END LOOP;
    FOREACH owner IN ARRAY owners LOOP
        PERFORM lock_count(owner, true); -- also inserts it: the batch and the others have two orders
    END LOOP;

    -- A statement of its own, so that its snapshot is newer than the commits of the locks' previous
    -- holders.
    WITH d AS MATERIALIZED (
        SELECT d.*,
               coalesce((SELECT f.version FROM following f
                         WHERE f.from_user_id = d.actor AND f.to_user_id = d.other), 0) = d.version
               AND coalesce((SELECT f.version FROM following f
                             WHERE f.from_user_id = d.other AND f.to_user_id = d.actor), 0)
                   = d.reverse_version
               AND NOT (d.begins AND EXISTS (
                   SELECT 1 FROM account a WHERE a.user_id IN (d.actor, d.other) AND a.state = 2
               )) AS is_held,
               -- Requests with the same receipt are about the same pair: none can insert it meanwhile.
               EXISTS (SELECT 1 FROM receipt r WHERE r.actor_id = d.actor AND r.id = d.receipt)
                   AS is_repeated
        FROM jsonb_to_recordset(batch) AS d (
            place integer, actor bigint, other bigint, version bigint, reverse_version bigint,
            now bigint, begins boolean, trace text,
            new_version bigint, kind smallint, flags smallint, since bigint, previous_kind smallint,
            previous_flags smallint, friends smallint, message text, muted_until bigint,
            following_below integer, blocks_below integer, pace_us bigint, paced_most bigint,
            paced_latest bigint,
            receipt uuid, digest bytea, outcome text, undo bigint[], messages text[])
    ), change AS MATERIALIZED (
        SELECT *, (kind IN (1, 2, 3))::integer - (previous_kind IN (1, 2, 3))::integer AS following
        FROM d
        WHERE is_held AND NOT is_repeated AND (new_version IS NOT NULL OR pace_us IS NOT NULL)
    ), step AS MATERIALIZED (
        -- `before`: how much a count may be raised before the last decision is written.
        SELECT actor,
               sum((kind = 1)::integer - (previous_kind = 1)::integer) AS follows,
               sum((kind = 2)::integer - (previous_kind = 2)::integer) AS whispers,
               sum((kind = 3)::integer - (previous_kind = 3)::integer) AS requests,
               sum((kind = 4)::integer - (previous_kind = 4)::integer) AS blocks,
               sum((kind IN (1, 2) AND flags & 1 <> 0)::integer
                   - (previous_kind IN (1, 2) AND previous_flags & 1 <> 0)::integer) AS specials,
               sum((flags & 2 <> 0)::integer - (previous_flags & 2 <> 0)::integer) AS mutes,
               sum(friends) AS friends,
               greatest(count(*) FILTER (WHERE following > 0) - 1, 0) AS following_before,
               min(following_below) AS following_below,
               greatest(count(*) FILTER (WHERE kind = 4) - 1, 0) AS blocks_before,
               min(blocks_below) AS blocks_below,
               max(now) AS now, coalesce(sum(pace_us), 0) AS pace_us,
               coalesce(sum(pace_us) - min(pace_us), 0) AS pace_before,
               min(paced_most) AS paced_most, min(paced_latest) AS paced_latest
        FROM change GROUP BY actor
    ), counted AS (
        INSERT INTO following_count AS c (user_id, follows, whispers, requests, blocks, specials,
                                          mutes, friends, paced_until)
        SELECT actor, follows, whispers, requests, blocks, specials, mutes, friends,
               CASE WHEN pace_us = 0 THEN 0 ELSE now + pace_us END
        FROM step
        WHERE coalesce(following_before < following_below, true)
          AND coalesce(blocks_before < blocks_below, true)
          AND coalesce(now + pace_before <= paced_most, true)
        ORDER BY actor
        ON CONFLICT (user_id) DO UPDATE
        SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
            requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
            specials = c.specials + excluded.specials, mutes = c.mutes + excluded.mutes,
            friends = c.friends + excluded.friends,
            paced_until = (
                SELECT CASE WHEN s.pace_us = 0 THEN c.paced_until
                            WHEN c.paced_until > s.paced_latest THEN s.now + s.pace_us
                            ELSE greatest(c.paced_until, s.now) + s.pace_us END
                FROM step s WHERE s.actor = c.user_id
            )
        WHERE (
            SELECT coalesce(c.follows + c.whispers + c.requests + s.following_before
                            < s.following_below, true)
                   AND coalesce(c.blocks + s.blocks_before < s.blocks_below, true)
                   AND coalesce(c.paced_until > s.paced_latest
                                OR greatest(c.paced_until, s.now) + s.pace_before <= s.paced_most,
                                true)
            FROM step s WHERE s.actor = c.user_id
        )
        RETURNING user_id
    ), written AS MATERIALIZED (
        SELECT * FROM d
        WHERE is_held AND NOT is_repeated
          AND ((new_version IS NULL AND pace_us IS NULL) OR actor IN (SELECT user_id FROM counted))
    ), edge AS (
        INSERT INTO following AS f (from_user_id, to_user_id, kind, flags, since, version, message,
                                    muted_until)
        SELECT actor, other, kind, flags, since, new_version, message, muted_until
        FROM written WHERE new_version IS NOT NULL
        ON CONFLICT (from_user_id, to_user_id) DO UPDATE
        SET kind = excluded.kind, flags = excluded.flags, since = excluded.since,
            version = excluded.version,
            message = CASE WHEN f.kind = 3 AND excluded.kind = 3
                           THEN coalesce(excluded.message, f.message) ELSE excluded.message END,
            muted_until = excluded.muted_until
    ), waiting AS (
        INSERT INTO outbox (lane, from_user_id, to_user_id, kind, flags, since, version, friends,
                            former, by_target, trace)
        -- The lane as functions/lane_of.sql has it, with one count of the lanes for all rows.
        SELECT hash_user(other) & ((SELECT count_lanes()) - 1), actor, other, kind, flags, since,
               new_version, friends, previous_kind + 16 * previous_flags, false, trace
        FROM written WHERE new_version IS NOT NULL ORDER BY place
    ), noted AS (
        INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, taken, messages)
        SELECT actor, receipt, other, now, digest, outcome, undo, messages
        FROM written WHERE receipt IS NOT NULL
    )
    SELECT array_agg(
               CASE WHEN d.is_repeated THEN 'repeated' WHEN w.place IS NULL THEN 'outdated'
                    ELSE 'written' END
               ORDER BY d.place)
    INTO results
    FROM d LEFT JOIN written w ON w.place = d.place;

    results := coalesce(results, '{}');
    FOREACH decision IN ARRAY others LOOP
        owner := decision ->> 'actor';
        IF EXISTS (
            SELECT 1 FROM receipt
            WHERE actor_id = owner AND id = (decision -> 'receipt' ->> 'id')::uuid
        ) THEN
            results := results || 'repeated'::text;
        ELSE
            results := results || write_decision(decision);
        END IF;
    END LOOP;
    RETURN results;
END $$;
