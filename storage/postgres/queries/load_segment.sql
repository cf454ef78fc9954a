-- name: commit_without_waiting
-- Commits of this connection do not wait for the disk. The next `advance` of the progress, on
-- another connection, does: its WAL is after that of these commits.
-- shard: local
SET synchronous_commit = off

-- name: prepare
-- Temporary tables of a connection: `loading` has the segment as read, `fresh` the new edges of the
-- current slots, and `mirrored` the same edges with what their reverse rows were before. On Citus,
-- the present rows of these edges are copied from all machines to `known_forward` and
-- `known_reverse`.
-- shard: local
CREATE TEMP TABLE loading (
    from_user_id bigint, to_user_id bigint, since bigint,
    slot smallint GENERATED ALWAYS AS (pair_slot(from_user_id, to_user_id)) STORED
);
CREATE TEMP TABLE fresh (
    from_user_id bigint, to_user_id bigint, since bigint, version bigint, known boolean,
    flags smallint, is_followed boolean
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE mirrored (
    from_user_id bigint, to_user_id bigint, since bigint, version bigint, known boolean,
    flags smallint, previous_kind smallint, friends integer, is_absent boolean
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE known_forward (
    from_user_id bigint, to_user_id bigint, kind smallint, flags smallint, version bigint,
    PRIMARY KEY (from_user_id, to_user_id)
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE known_reverse (
    to_user_id bigint, from_user_id bigint, kind smallint, version bigint,
    PRIMARY KEY (to_user_id, from_user_id)
) ON COMMIT DELETE ROWS;

-- name: clear
-- Empties the segment.
-- shard: local
TRUNCATE loading

-- name: unindex
-- Drops the index during the copy, because building it is faster than maintaining it.
-- shard: local
DROP INDEX IF EXISTS loading_slot

-- name: index
-- Each part then reads only the edges of its slots.
-- shard: local
CREATE INDEX loading_slot ON loading (slot)

-- name: lock_slots
-- Waits for current changes of the pairs in the slots $1 to $2, and blocks new ones, so that what
-- is read here cannot change before it is written.
-- shard: local
SELECT lock_slots($1, $2)

-- name: find_forward_on_citus
-- Copies the present forward rows of the edges of the slots $1 to $2, and of their reverse edges.
-- The edges are sent to all machines: two probes for each.
-- shard: fan-out
INSERT INTO known_forward (from_user_id, to_user_id, kind, flags, version)
WITH pair AS MATERIALIZED (
    SELECT from_user_id, to_user_id FROM loading WHERE slot BETWEEN $1::smallint AND $2::smallint
    UNION
    SELECT to_user_id, from_user_id FROM loading WHERE slot BETWEEN $1 AND $2
)
SELECT f.from_user_id, f.to_user_id, f.kind, f.flags, f.version
FROM pair p
JOIN following f ON f.from_user_id = p.from_user_id AND f.to_user_id = p.to_user_id

-- name: pick{,_on_citus,_existing,_existing_on_citus}
-- Picks the edges of the slots $1 to $2 that become follows, and counts those that may not. A probe
-- of the reverse edge for each edge, and two of the accounts if there are any; `pick_existing` also
-- probes each edge, and leaves out existing follows. If lines repeat an edge, the first line
-- counts. Whispers, requests and blocks stay as they are; so do the flags of a tombstone. Probes in
-- the order of the index take half the time.
-- shard: {plain,local,plain,local}
WITH judged AS MATERIALIZED (
    SELECT e.*, b.kind AS reverse_kind,
           coalesce(e.kind, 0) > 1 OR coalesce(b.kind, 0) = 4
               OR coalesce(own.is_deleted, other.is_deleted, false) AS kept
    FROM (
        SELECT l.*, f.kind, f.flags, f.version
        FROM (
            SELECT DISTINCT ON ({to,to,from,from}_user_id, {from,from,to,to}_user_id)
                   from_user_id, to_user_id, since
            FROM loading WHERE slot BETWEEN $1::smallint AND $2::smallint
            ORDER BY {to,to,from,from}_user_id, {from,from,to,to}_user_id, ctid
        ) l
        LEFT JOIN LATERAL (
            SELECT f.kind, f.flags, f.version FROM {following,known_forward,following,known_forward} f
            WHERE {false,false,true,true}
              AND f.from_user_id = l.from_user_id AND f.to_user_id = l.to_user_id
            OFFSET 0 -- keeps this a probe: a hash join would read the whole graph
        ) f ON true
        WHERE coalesce(f.kind, 0) <> 1
        ORDER BY l.to_user_id, l.from_user_id
    ) e
    LEFT JOIN LATERAL (
        SELECT b.kind FROM {following,known_forward,following,known_forward} b
        WHERE b.from_user_id = e.to_user_id AND b.to_user_id = e.from_user_id
        OFFSET 0
    ) b ON true
    LEFT JOIN LATERAL (
        SELECT true AS is_deleted FROM account a
        WHERE {(SELECT EXISTS (SELECT 1 FROM account)),true,(SELECT EXISTS (SELECT 1 FROM account)),true}
          AND a.user_id = e.from_user_id AND a.state = 2
        OFFSET 0
    ) own ON true
    LEFT JOIN LATERAL (
        SELECT true AS is_deleted FROM account a
        WHERE {(SELECT EXISTS (SELECT 1 FROM account)),true,(SELECT EXISTS (SELECT 1 FROM account)),true}
          AND a.user_id = e.to_user_id AND a.state = 2
        OFFSET 0
    ) other ON true
), clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
), picked AS (
    INSERT INTO fresh (from_user_id, to_user_id, since, version, known, flags, is_followed)
    SELECT j.from_user_id, j.to_user_id, coalesce(j.since, clock.now / 1000),
           greatest(clock.now, j.version + 1), j.version IS NOT NULL, coalesce(j.flags, 0) & 6,
           coalesce(j.reverse_kind = 1, false)
    FROM judged j CROSS JOIN clock
    WHERE NOT j.kept
    RETURNING 1
)
SELECT (SELECT count(*) FROM picked) AS picked, (SELECT count(*) FROM judged WHERE kept) AS kept

-- name: write_forward
-- Inserts the edges that have no row. The slots are locked, so a conflict means that an edge exists
-- although none was expected.
-- shard: fan-out
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT from_user_id, to_user_id, since, version, 1 FROM fresh WHERE NOT known
ORDER BY from_user_id, to_user_id

-- name: reopen_forward
-- Turns tombstones into follows.
-- shard: fan-out
INSERT INTO following AS f (from_user_id, to_user_id, since, version, kind, flags)
SELECT from_user_id, to_user_id, since, version, 1, flags FROM fresh WHERE known
ON CONFLICT (from_user_id, to_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind,
    flags = excluded.flags

-- name: lock_lanes
-- Blocks all drains. The lock is shared, because other loads write other pairs.
-- shard: local
SELECT count(lock_at(lane, $1, lane, true)) FROM generate_series(0, count_lanes() - 1) AS lane

-- name: find_reverse_on_citus
-- Copies the reverse rows of the new edges, which are sent to all machines: a probe each.
-- shard: fan-out
INSERT INTO known_reverse (to_user_id, from_user_id, kind, version)
WITH edge AS MATERIALIZED (SELECT to_user_id, from_user_id FROM fresh)
SELECT r.to_user_id, r.from_user_id, r.kind, r.version
FROM edge e
JOIN follower r ON r.to_user_id = e.to_user_id AND r.from_user_id = e.from_user_id

-- name: mirror{,_on_citus,_existing,_existing_on_citus}
-- Computes what each new edge adds to the counts, in the order of the reverse rows. `previous_kind`
-- is the previous kind of the reverse row, which may be any while a lane lags; 1 if the row is not
-- written. If both edges of a pair of friends are new, one of them counts the friendship.
-- `mirror_existing` probes the reverse row of each edge; `mirror` need not, because an edge without
-- a forward row has none.
-- shard: {plain,local,plain,local}
INSERT INTO mirrored (from_user_id, to_user_id, since, version, known, flags, previous_kind,
                      friends, is_absent)
SELECT n.from_user_id, n.to_user_id, n.since, n.version, r.version IS NOT NULL, n.flags,
       CASE WHEN coalesce(r.version < n.version, true) THEN coalesce(r.kind, 0) ELSE 1 END,
       (n.is_followed OR (twin.version IS NOT NULL AND n.from_user_id < n.to_user_id))::integer,
       coalesce(a.is_counted, false)
FROM (SELECT * FROM fresh ORDER BY to_user_id, from_user_id) n
LEFT JOIN LATERAL (
    SELECT r.kind, r.version FROM {follower,known_reverse,follower,known_reverse} r
    WHERE {false,false,true,true}
      AND r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    OFFSET 0
) r ON true
LEFT JOIN LATERAL (
    SELECT a.is_counted FROM account a
    WHERE {(SELECT EXISTS (SELECT 1 FROM account WHERE is_counted)),true,(SELECT EXISTS (SELECT 1 FROM account WHERE is_counted)),true}
      AND a.user_id = n.from_user_id AND a.is_counted
    OFFSET 0
) a ON true
LEFT JOIN fresh twin ON twin.from_user_id = n.to_user_id AND twin.to_user_id = n.from_user_id

-- name: write_reverse
-- Inserts reverse rows that did not exist.
-- shard: fan-out
INSERT INTO follower (to_user_id, from_user_id, since, version, kind, flags)
SELECT to_user_id, from_user_id, since, version, 1, flags FROM mirrored WHERE NOT known

-- name: reopen_reverse
-- Updates the other reverse rows if the new version is newer, as the drains do.
-- shard: fan-out
INSERT INTO follower AS r (to_user_id, from_user_id, since, version, kind, flags)
SELECT to_user_id, from_user_id, since, version, 1, flags FROM mirrored WHERE known
ON CONFLICT (to_user_id, from_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind,
    flags = excluded.flags
WHERE r.version < excluded.version

-- name: count_following
-- One row per user, in the order of ids, so that two loads cannot deadlock.
-- shard: fan-out
INSERT INTO following_count AS c (user_id, follows, friends)
SELECT from_user_id, count(*), coalesce(sum(friends), 0) FROM mirrored
GROUP BY from_user_id ORDER BY from_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends

-- name: count_followers
-- The same for the followed users. Subtracts the previous kinds of the reverse rows.
-- shard: fan-out
INSERT INTO follower_count AS c (user_id, follows, whispers, requests, blocks, friends,
                                 absent_follows, absent_whispers, absent_requests)
SELECT to_user_id, count(*) FILTER (WHERE previous_kind <> 1),
       -count(*) FILTER (WHERE previous_kind = 2),
       -count(*) FILTER (WHERE previous_kind = 3), -count(*) FILTER (WHERE previous_kind = 4),
       coalesce(sum(friends), 0), count(*) FILTER (WHERE is_absent AND previous_kind <> 1),
       -count(*) FILTER (WHERE is_absent AND previous_kind = 2),
       -count(*) FILTER (WHERE is_absent AND previous_kind = 3)
FROM mirrored
GROUP BY to_user_id ORDER BY to_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
    requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
    friends = c.friends + excluded.friends,
    absent_follows = c.absent_follows + excluded.absent_follows,
    absent_whispers = c.absent_whispers + excluded.absent_whispers,
    absent_requests = c.absent_requests + excluded.absent_requests
