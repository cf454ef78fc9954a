-- name: prepare
-- What a connection works in: a segment as it was read, and of the slots at hand its new edges,
-- then beside what the reverse side says.
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
    flags smallint, former smallint, friends integer, is_absent boolean
) ON COMMIT DELETE ROWS;

-- name: clear
-- The last segment is done.
TRUNCATE loading

-- name: unindex
-- An index is quicker to build than to keep.
DROP INDEX IF EXISTS loading_slot

-- name: index
-- So that each slot's edges are read once.
CREATE INDEX loading_slot ON loading (slot)

-- name: lock_slots
-- Waits for whoever is changing something between two users of the slots $2 to $3, and holds
-- everybody off who wants to: so that nothing that is read here changes before it is written.
SELECT count(pg_advisory_xact_lock($1, slot)) FROM generate_series($2::integer, $3::integer) AS slot

-- name: pick
-- The edges of the slots $1 to $2 that may become follows, and how many may not; if this is $3
-- careful, without those that are follows already. A probe of either direction each, and two of the
-- accounts, where it is no follow yet. Of several lines of one edge the first counts. Other kinds than
-- FOLLOW were somebody's word, and stay; so do the notes beside an edge that is none.
WITH judged AS MATERIALIZED (
    SELECT l.from_user_id, l.to_user_id, l.since, f.kind, f.flags, f.version, b.kind AS back_kind,
           coalesce(f.kind, 0) > 1 OR coalesce(b.kind, 0) = 4
               OR coalesce(a.is_deleted, false) AS kept
    FROM (
        SELECT DISTINCT ON (from_user_id, to_user_id) from_user_id, to_user_id, since
        FROM loading WHERE slot BETWEEN $1::smallint AND $2::smallint
        ORDER BY from_user_id, to_user_id, ctid
    ) l
    LEFT JOIN LATERAL (
        SELECT f.kind, f.flags, f.version FROM following f
        WHERE $3::boolean AND f.from_user_id = l.from_user_id AND f.to_user_id = l.to_user_id
        OFFSET 0 -- keeps this a probe: a hash join would read the whole graph
    ) f ON true
    LEFT JOIN LATERAL (
        SELECT b.kind FROM following b
        WHERE coalesce(f.kind, 0) = 0
          AND b.from_user_id = l.to_user_id AND b.to_user_id = l.from_user_id
        OFFSET 0
    ) b ON true
    LEFT JOIN LATERAL (
        SELECT true AS is_deleted FROM account a
        WHERE coalesce(f.kind, 0) = 0
          AND a.user_id IN (l.from_user_id, l.to_user_id) AND a.state = 2
        LIMIT 1
    ) a ON true
), clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
), picked AS (
    INSERT INTO fresh (from_user_id, to_user_id, since, version, known, flags, is_followed)
    SELECT j.from_user_id, j.to_user_id, coalesce(j.since, clock.now / 1000),
           greatest(clock.now, j.version + 1), j.version IS NOT NULL, coalesce(j.flags, 0) & 6,
           coalesce(j.back_kind = 1, false)
    FROM judged j CROSS JOIN clock
    WHERE NOT j.kept AND coalesce(j.kind, 0) = 0
    RETURNING 1
)
SELECT (SELECT count(*) FROM picked) AS picked, (SELECT count(*) FROM judged WHERE kept) AS kept

-- name: write_forward
-- Edges that never were. Nobody else can write them now; if one exists, this was not careful.
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT from_user_id, to_user_id, since, version, 1 FROM fresh WHERE NOT known

-- name: reopen_forward
-- Edges that had been left.
INSERT INTO following AS f (from_user_id, to_user_id, since, version, kind, flags)
SELECT from_user_id, to_user_id, since, version, 1, flags FROM fresh WHERE known
ON CONFLICT (from_user_id, to_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind,
    flags = excluded.flags

-- name: lock_lanes
-- Holds off the drains of the lanes below $2, and no other load: it writes other pairs.
SELECT count(pg_advisory_xact_lock_shared($1, lane)) FROM generate_series(0, $2::integer - 1) AS lane

-- name: mirror
-- What each new edge adds to the counts, in the order of the reverse rows: one probe each. `former` is
-- what the reverse row counts as until then, which may be anything while a lane lags; 1 where it is
-- not written at all. A pair of friends who are both new here is counted with one of its two edges.
-- If this is not $1 careful, there is no reverse row where there was no edge.
INSERT INTO mirrored (from_user_id, to_user_id, since, version, known, flags, former, friends,
                      is_absent)
SELECT n.from_user_id, n.to_user_id, n.since, n.version, r.version IS NOT NULL, n.flags,
       CASE WHEN coalesce(r.version < n.version, true) THEN coalesce(r.kind, 0) ELSE 1 END,
       (n.is_followed OR (twin.version IS NOT NULL AND n.from_user_id < n.to_user_id))::integer,
       coalesce(a.is_counted, false)
FROM (SELECT * FROM fresh ORDER BY to_user_id, from_user_id) n
LEFT JOIN LATERAL (
    SELECT r.kind, r.version FROM follower r
    WHERE (n.known OR $1::boolean)
      AND r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    OFFSET 0
) r ON true
LEFT JOIN LATERAL (
    SELECT a.is_counted FROM account a WHERE a.user_id = n.from_user_id AND a.is_counted OFFSET 0
) a ON true
LEFT JOIN fresh twin ON twin.from_user_id = n.to_user_id AND twin.to_user_id = n.from_user_id

-- name: write_reverse
-- Reverse rows that never were.
INSERT INTO follower (to_user_id, from_user_id, since, version, kind, flags)
SELECT to_user_id, from_user_id, since, version, 1, flags FROM mirrored WHERE NOT known

-- name: reopen_reverse
-- The others, by the rule of the drains: only what is newer.
INSERT INTO follower AS r (to_user_id, from_user_id, since, version, kind, flags)
SELECT to_user_id, from_user_id, since, version, 1, flags FROM mirrored WHERE known
ON CONFLICT (to_user_id, from_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind,
    flags = excluded.flags
WHERE r.version < excluded.version

-- name: count_following
-- One row a user, always in the order of their ids, so that no two loads wait for each other.
INSERT INTO following_count AS c (user_id, follows, friends)
SELECT from_user_id, count(*), coalesce(sum(friends), 0) FROM mirrored
GROUP BY from_user_id ORDER BY from_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends

-- name: count_followers
-- The same for those who are followed; what a reverse row was before, it is no more.
INSERT INTO follower_count AS c (user_id, follows, whispers, requests, blocks, friends,
                                 absent_follows, absent_whispers, absent_requests)
SELECT to_user_id, count(*) FILTER (WHERE former <> 1), -count(*) FILTER (WHERE former = 2),
       -count(*) FILTER (WHERE former = 3), -count(*) FILTER (WHERE former = 4),
       coalesce(sum(friends), 0), count(*) FILTER (WHERE is_absent AND former <> 1),
       -count(*) FILTER (WHERE is_absent AND former = 2),
       -count(*) FILTER (WHERE is_absent AND former = 3)
FROM mirrored
GROUP BY to_user_id ORDER BY to_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
    requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
    friends = c.friends + excluded.friends,
    absent_follows = c.absent_follows + excluded.absent_follows,
    absent_whispers = c.absent_whispers + excluded.absent_whispers,
    absent_requests = c.absent_requests + excluded.absent_requests
