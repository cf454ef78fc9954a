-- name: prepare
-- What a connection works in: a segment as it was read, and of the slots at hand its new edges,
-- then beside what the reverse side says.
CREATE TEMP TABLE loading (
    from_user_id bigint, to_user_id bigint, since bigint,
    slot smallint GENERATED ALWAYS AS (pair_slot(from_user_id, to_user_id)) STORED
);
CREATE TEMP TABLE fresh (
    from_user_id bigint, to_user_id bigint, since bigint, version bigint, known boolean
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE mirrored (
    from_user_id bigint, to_user_id bigint, since bigint, version bigint, known boolean,
    follows integer, friends integer
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
-- The edges of the slots $1 to $2, and if this is $3 careful, only those that do not exist or no
-- longer: one probe each. Of several lines of one edge the first counts. Other kinds than FOLLOW
-- were somebody's word, and stay.
WITH clock AS MATERIALIZED (
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
)
INSERT INTO fresh (from_user_id, to_user_id, since, version, known)
SELECT l.from_user_id, l.to_user_id, coalesce(l.since, clock.now / 1000),
       greatest(clock.now, f.version + 1), f.version IS NOT NULL
FROM clock
CROSS JOIN (
    SELECT DISTINCT ON (from_user_id, to_user_id) from_user_id, to_user_id, since
    FROM loading WHERE slot BETWEEN $1::smallint AND $2::smallint
    ORDER BY from_user_id, to_user_id, ctid
) l
LEFT JOIN LATERAL (
    SELECT f.kind, f.version FROM following f
    WHERE $3::boolean AND f.from_user_id = l.from_user_id AND f.to_user_id = l.to_user_id
    OFFSET 0 -- keeps this a probe: a hash join would read the whole graph
) f ON true
WHERE coalesce(f.kind, 0) = 0

-- name: write_forward
-- Edges that never were. Nobody else can write them now; if one exists, this was not careful.
INSERT INTO following (from_user_id, to_user_id, since, version, kind)
SELECT from_user_id, to_user_id, since, version, 1 FROM fresh WHERE NOT known

-- name: reopen_forward
-- Edges that had been left.
INSERT INTO following AS f (from_user_id, to_user_id, since, version, kind)
SELECT from_user_id, to_user_id, since, version, 1 FROM fresh WHERE known
ON CONFLICT (from_user_id, to_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind, flags = 0

-- name: lock_lanes
-- Holds off the drains of the lanes below $2, and no other load: it writes other pairs.
SELECT count(pg_advisory_xact_lock_shared($1, lane)) FROM generate_series(0, $2::integer - 1) AS lane

-- name: mirror
-- What each new edge adds to the counts, in the order of the reverse rows: two probes each. A pair
-- of friends who are both new here is counted with one of its two edges. If this is not $1 careful,
-- there is no reverse row where there was no edge.
INSERT INTO mirrored (from_user_id, to_user_id, since, version, known, follows, friends)
SELECT n.from_user_id, n.to_user_id, n.since, n.version, r.version IS NOT NULL,
       (coalesce(r.version < n.version, true) AND coalesce(r.kind, 0) <> 1)::integer,
       (b.kind = 1 AND (twin.version IS NULL OR n.from_user_id < n.to_user_id))::integer
FROM (SELECT * FROM fresh ORDER BY to_user_id, from_user_id) n
LEFT JOIN LATERAL (
    SELECT r.kind, r.version FROM follower r
    WHERE (n.known OR $1::boolean)
      AND r.to_user_id = n.to_user_id AND r.from_user_id = n.from_user_id
    OFFSET 0
) r ON true
LEFT JOIN LATERAL (
    SELECT b.kind FROM following b
    WHERE b.from_user_id = n.to_user_id AND b.to_user_id = n.from_user_id
    OFFSET 0
) b ON true
LEFT JOIN fresh twin ON twin.from_user_id = n.to_user_id AND twin.to_user_id = n.from_user_id

-- name: write_reverse
-- Reverse rows that never were.
INSERT INTO follower (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, 1 FROM mirrored WHERE NOT known

-- name: reopen_reverse
-- The others, by the rule of the drains: only what is newer.
INSERT INTO follower AS r (to_user_id, from_user_id, since, version, kind)
SELECT to_user_id, from_user_id, since, version, 1 FROM mirrored WHERE known
ON CONFLICT (to_user_id, from_user_id) DO UPDATE
SET since = excluded.since, version = excluded.version, kind = excluded.kind, flags = 0
WHERE r.version < excluded.version

-- name: count_following
-- One row a user, always in the order of their ids, so that no two loads wait for each other.
INSERT INTO following_count AS c (user_id, follows, friends)
SELECT from_user_id, count(*), coalesce(sum(friends), 0) FROM mirrored
GROUP BY from_user_id ORDER BY from_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends

-- name: count_followers
-- The same for those who are followed.
INSERT INTO follower_count AS c (user_id, follows, friends)
SELECT to_user_id, coalesce(sum(follows), 0), coalesce(sum(friends), 0) FROM mirrored
GROUP BY to_user_id ORDER BY to_user_id
ON CONFLICT (user_id) DO UPDATE
SET follows = c.follows + excluded.follows, friends = c.friends + excluded.friends
