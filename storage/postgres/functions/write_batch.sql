-- Writes decisions about different pairs of users in one transaction. An element of `decisions` is
-- a parameter of functions/write_decision.sql. Returns the result of each: 'written', 'outdated' or
-- 'consumed'; or 'repeated' if the receipt to insert exists. A decision that is not 'written' has
-- written nothing.
--
-- One statement writes the decisions that change at most the actor's own edge and consume no
-- receipt, which are nearly all. It costs a third of what one call of `write_decision` for each
-- does. If the conditions of a user's decisions might not all hold, none of this user's decisions
-- is written: they are 'outdated'. All other decisions are then written by `write_decision`, one by
-- one.
--
-- Transactions take all locks in one order, so they do not deadlock: first pairs, then counts, in
-- the order of the users' ids.
--
-- The included parts are in functions/parts/shared_expressions.sql.
-- shard: plain
CREATE OR REPLACE FUNCTION write_batch(decisions jsonb[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    own_only boolean[]; -- whether the one statement writes a decision
    results text[];
BEGIN
    PERFORM pg_advisory_xact_lock(1, slot)
    FROM (
        SELECT DISTINCT pair_slot((one ->> 'actor')::bigint, (one ->> 'other')::bigint) AS slot
        FROM unnest(decisions) AS one ORDER BY slot
    ) AS slots;

    own_only := ARRAY(
        SELECT one ->> 'consumes' IS NULL AND one -> 'steps' -> 1 IS NULL
               AND coalesce(one -> 'steps' -> 0 -> 'source' = one -> 'actor', true)
        FROM unnest(decisions) WITH ORDINALITY AS given (one, place) ORDER BY place
    );
    IF false = ANY (own_only) THEN
        -- The one statement and the calls after it would lock the counts in two orders, so they are
        -- locked here in one. Missing count rows are inserted.
        PERFORM lock_count(owner, true)
        FROM (
            SELECT DISTINCT (s ->> 'source')::bigint AS owner
            FROM unnest(decisions) AS one, jsonb_array_elements(one -> 'steps') AS s ORDER BY owner
        ) AS owners;
    END IF;

    -- A separate statement, so that its snapshot is newer than the commits of the transactions that
    -- held the locks before.
    WITH d AS MATERIALIZED (
        SELECT d.*, given.place, given.own_only, (
                   -- include: is_current
               ) AND NOT (
                   -- include: begins_with_a_deleted_account
               ) AS may_be_written,
               -- Requests with the same receipt concern the same pair, which is locked: none of
               -- them can insert the receipt meanwhile.
               EXISTS (
                   SELECT 1 FROM receipt r
                   WHERE r.actor_id = d.actor AND r.id = (d.receipt ->> 'id')::uuid
               ) AS is_repeated
        FROM unnest(decisions, own_only) WITH ORDINALITY AS given (one, own_only, place)
        CROSS JOIN LATERAL jsonb_to_record(given.one) AS d (
            -- include: decision_fields
        )
    ), change AS MATERIALIZED (
        SELECT step.*, d.place
        FROM d CROSS JOIN LATERAL (
            -- include: steps
        ) AS step
        WHERE d.own_only AND d.may_be_written AND NOT d.is_repeated
    ), step AS MATERIALIZED (
        -- The steps of each user together. `…_before`: by how much the count may be raised before
        -- the last step.
        SELECT source, sum(follows) AS follows, sum(whispers) AS whispers, sum(requests) AS requests,
               sum(blocks) AS blocks, sum(specials) AS specials, sum(mutes) AS mutes,
               sum(friends) AS friends,
               greatest(count(*) FILTER (WHERE follows + whispers + requests > 0) - 1, 0)
                   AS following_before,
               min(following_below) AS following_below,
               greatest(count(*) FILTER (WHERE blocks > 0) - 1, 0) AS blocks_before,
               min(blocks_below) AS blocks_below,
               max(now) AS now, sum(pace_us) AS pace_us,
               coalesce(sum(pace_us) - min(pace_us), 0) AS pace_before,
               min(paced_most) AS paced_most, min(paced_latest) AS paced_latest
        FROM change GROUP BY source
    ), counted AS (
        INSERT INTO following_count AS c (
            -- include: count_columns
        ) SELECT
            -- include: count_values
        FROM step, (VALUES (0, 0, 0, 0, 0)) AS c (follows, whispers, requests, blocks, paced_until)
        WHERE
            -- include: is_within_limits
        ORDER BY step.source
        ON CONFLICT (user_id) DO UPDATE
        SET paced_until = (
                SELECT coalesce(
                    -- include: new_paced_until
                    , c.paced_until)
                FROM step WHERE step.source = c.user_id
            ),
            -- include: added_counts
        WHERE (
            SELECT
                -- include: is_within_limits
            FROM step WHERE step.source = c.user_id
        )
        RETURNING user_id
    ), written AS MATERIALIZED (
        SELECT * FROM d
        WHERE d.own_only AND d.may_be_written AND NOT d.is_repeated
          AND (d.steps -> 0 IS NULL OR d.actor IN (SELECT user_id FROM counted))
    ), edge_step AS MATERIALIZED (
        SELECT * FROM change
        WHERE version IS NOT NULL AND source IN (SELECT user_id FROM counted)
    ), edge AS (
        INSERT INTO following AS f (
            -- include: edge_columns
        ) SELECT
            -- include: edge_values
        FROM edge_step AS step
        ON CONFLICT (from_user_id, to_user_id) DO UPDATE
        SET muted_until = excluded.muted_until,
            -- include: new_edge
    ), new_outbox_row AS (
        INSERT INTO outbox (
            lane,
            -- include: outbox_columns
        ) SELECT
            (hash_user(step.target) & ((SELECT count_lanes()) - 1))::smallint,
            -- include: outbox_values
        FROM edge_step AS step ORDER BY step.place
    ), new_receipt AS (
        INSERT INTO receipt (
            -- include: receipt_columns
        ) SELECT
            -- include: receipt_values
        FROM written AS d CROSS JOIN LATERAL jsonb_to_record(d.receipt) AS r (
            -- include: receipt_fields
        )
        WHERE d.receipt IS NOT NULL
    )
    SELECT array_agg(
               CASE WHEN d.is_repeated THEN 'repeated' WHEN NOT d.own_only THEN NULL
                    WHEN w.place IS NULL THEN 'outdated' ELSE 'written' END
               ORDER BY d.place)
    INTO results
    FROM d LEFT JOIN written w ON w.place = d.place;

    FOR place IN 1 .. cardinality(decisions) LOOP
        IF results[place] IS NULL THEN
            results[place] := write_decision(decisions[place]);
        END IF;
    END LOOP;
    RETURN results;
END $$;
