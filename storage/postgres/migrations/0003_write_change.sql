-- Writes one change of the edge from source to target: the edge, the actor's count and the outbox
-- row, if both directions still have the versions that the decision was made from (0: no row), and
-- the actor still follows fewer than `below` users, if that is given. Returns whether it wrote.
--
-- The pair's lock (class and slot) orders all changes between the two users. No other user's row is
-- locked, so followers of a star do not wait for each other.
CREATE FUNCTION write_change(
    class integer, slot integer, source bigint, target bigint, was bigint, back_was bigint,
    below bigint, new_kind smallint, new_flags smallint, new_since bigint, new_version bigint,
    step integer, friends_step smallint, in_lane smallint
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(class, slot);
    -- A separate statement, so that its snapshot is newer than the lock's previous holder.
    WITH unchanged AS (
        SELECT
        WHERE was = coalesce((
            SELECT version FROM following WHERE from_user_id = source AND to_user_id = target
        ), 0) AND back_was = coalesce((
            SELECT version FROM following WHERE from_user_id = target AND to_user_id = source
        ), 0)
    ), own AS (
        INSERT INTO following_count AS c (user_id, follows, friends)
        SELECT source, step, friends_step FROM unchanged
        ON CONFLICT (user_id) DO UPDATE
        SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends
        WHERE below IS NULL OR c.follows < below
        RETURNING user_id
    ), edge AS ( -- from `own`, so that a count is locked before its edges, as a repair expects
        INSERT INTO following (from_user_id, to_user_id, kind, flags, since, version)
        SELECT user_id, target, new_kind, new_flags, new_since, new_version FROM own
        ON CONFLICT (from_user_id, to_user_id) DO UPDATE
        SET kind = excluded.kind, flags = excluded.flags,
            since = excluded.since, version = excluded.version
    )
    INSERT INTO outbox (lane, from_user_id, to_user_id, kind, flags, since, version, friends)
    SELECT in_lane, user_id, target, new_kind, new_flags, new_since, new_version, friends_step
    FROM own;
    RETURN FOUND;
END $$;
