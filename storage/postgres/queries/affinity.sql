-- name: record
-- Adds the ranks $3[i] to those of the pairs ($1[i], $2[i]), each given once, and returns the
-- pairs; pairs with a deleted account are skipped. Four probes per pair, in the order of the pairs,
-- so that two batches cannot deadlock. Ranks are logarithms of scores, and the scores are added; of
-- two ranks more than 700 apart, the lower one changes nothing and would underflow. If two batches
-- add the same new pair at once, it is counted twice: the count is only a hint for the purge.
-- shard: plain
WITH given AS MATERIALIZED (
    SELECT g.user_id, g.other_id, g.rank
    FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS g (user_id, other_id, rank)
    LEFT JOIN LATERAL (
        SELECT true AS found FROM account a
        WHERE a.user_id IN (g.user_id, g.other_id) AND a.state = 2
        LIMIT 1
    ) deleted ON true
    WHERE deleted.found IS NULL
), new AS MATERIALIZED (
    SELECT g.user_id
    FROM given g
    LEFT JOIN LATERAL (
        SELECT true AS found FROM affinity a
        WHERE a.user_id = g.user_id AND a.other_id = g.other_id
        OFFSET 0 -- keeps this a probe
    ) a ON true
    WHERE a.found IS NULL
), counted AS (
    INSERT INTO affinity_count AS c (user_id, others)
    SELECT user_id, count(*) FROM new GROUP BY user_id ORDER BY user_id
    ON CONFLICT (user_id) DO UPDATE SET others = c.others + excluded.others
)
INSERT INTO affinity AS a (user_id, other_id, rank)
SELECT user_id, other_id, rank FROM given ORDER BY user_id, other_id
ON CONFLICT (user_id, other_id) DO UPDATE
SET rank = greatest(a.rank, excluded.rank)
         + ln(1 + exp(-least(abs(a.rank - excluded.rank), 700)))
RETURNING user_id, other_id

-- name: record_on_citus
-- The same for users of one shard.
-- shard: $1[1]
WITH given AS MATERIALIZED (
    SELECT g.user_id, g.other_id, g.rank
    FROM unnest($1::bigint[], $2::bigint[], $3::float8[]) AS g (user_id, other_id, rank)
    LEFT JOIN LATERAL (
        SELECT true AS found FROM account a
        WHERE a.user_id IN (g.user_id, g.other_id) AND a.state = 2
        LIMIT 1
    ) deleted ON true
    WHERE deleted.found IS NULL
), known AS MATERIALIZED (
    SELECT user_id, other_id FROM affinity WHERE user_id = ANY ($1) AND other_id = ANY ($2)
), counted AS (
    INSERT INTO affinity_count AS c (user_id, others)
    SELECT g.user_id, count(*)
    FROM given g
    WHERE NOT EXISTS (
        SELECT 1 FROM known k WHERE k.user_id = g.user_id AND k.other_id = g.other_id
    )
    GROUP BY g.user_id ORDER BY g.user_id
    ON CONFLICT (user_id) DO UPDATE SET others = c.others + excluded.others
)
INSERT INTO affinity AS a (user_id, other_id, rank)
SELECT user_id, other_id, rank FROM given ORDER BY user_id, other_id
ON CONFLICT (user_id, other_id) DO UPDATE
SET rank = greatest(a.rank, excluded.rank)
         + ln(1 + exp(-least(abs(a.rank - excluded.rank), 700)))
RETURNING user_id, other_id

-- name: closest
-- The $2 highest ranks of the user $1: one range of the rows that the purge leaves, sorted.
-- shard: $1
SELECT other_id, rank FROM affinity WHERE user_id = $1 ORDER BY rank DESC, other_id DESC LIMIT $2

-- name: take_crowded
-- Takes at most $1 users with too many ranks, and sets their counts to $2: one range of a small
-- index. The threshold is a tenth above the number kept, so that not every new rank causes a purge.
-- Without MATERIALIZED, a nested loop may repeat the subquery for each row, and then takes more
-- than $1 users.
-- shard: plain
WITH crowded AS MATERIALIZED (
    SELECT user_id FROM affinity_count WHERE others > 2200
    ORDER BY user_id LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE affinity_count c SET others = $2
FROM crowded
WHERE c.user_id = crowded.user_id
RETURNING c.user_id

-- name: find_crowded_on_citus
-- At most $1 users with too many ranks: one range of a small index on each machine.
-- shard: fan-out
SELECT user_id FROM affinity_count WHERE others > 2200 ORDER BY user_id LIMIT $1

-- name: take_crowded_on_citus
-- Takes at most $1 of the users $3, who are of one shard.
-- shard: $3[1]
WITH crowded AS MATERIALIZED (
    SELECT user_id FROM affinity_count WHERE others > 2200 AND user_id = ANY ($3::bigint[])
    ORDER BY user_id LIMIT $1 FOR UPDATE SKIP LOCKED
)
UPDATE affinity_count SET others = $2
WHERE user_id = ANY ($3) AND user_id = ANY (ARRAY(SELECT user_id FROM crowded))
RETURNING user_id

-- name: prune
-- Deletes all but the $2 highest ranks of the user $1. It skips rows that are locked or have been
-- raised meanwhile, so it never waits.
-- shard: $1
WITH surplus AS MATERIALIZED (
    SELECT other_id, rank FROM affinity WHERE user_id = $1
    ORDER BY rank DESC, other_id DESC OFFSET $2
), held AS MATERIALIZED (
    SELECT a.other_id FROM affinity a
    WHERE a.user_id = $1 AND a.other_id = ANY (ARRAY(SELECT other_id FROM surplus)::bigint[])
      AND a.rank <= (SELECT max(rank) FROM surplus)
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM affinity
    WHERE user_id = $1 AND other_id = ANY (ARRAY(SELECT other_id FROM held)::bigint[])
    RETURNING 1
)
SELECT count(*) FROM gone

-- name: forget
-- Deletes at most $2 rows from or to the user $1: one range of the primary key, and one of another
-- index of each partition. Each subquery is ordered like its index, so that the planner uses it.
-- Rows are locked in the order of the pairs, as by `record`. The count row is deleted with the last
-- row.
-- shard: plain
WITH chosen AS MATERIALIZED (
    (SELECT user_id, other_id FROM affinity WHERE user_id = $1 ORDER BY other_id LIMIT $2)
    UNION ALL
    (SELECT user_id, other_id FROM affinity
     WHERE other_id BETWEEN $1 AND $1 -- an equality would make the ORDER BY redundant
     ORDER BY other_id LIMIT $2)
    LIMIT $2
), held AS MATERIALIZED (
    SELECT a.user_id, a.other_id
    FROM chosen c JOIN affinity a ON a.user_id = c.user_id AND a.other_id = c.other_id
    ORDER BY a.user_id, a.other_id
    FOR UPDATE OF a
), gone AS (
    DELETE FROM affinity a USING held h
    WHERE a.user_id = h.user_id AND a.other_id = h.other_id
), uncounted AS (
    DELETE FROM affinity_count
    WHERE user_id = $1 AND (SELECT count(*) FROM chosen) < $2
)
SELECT count(*) FROM chosen

-- name: forget_on_citus
-- Deletes at most $2 rows from the user $1, and the count row with the last of them: one range of
-- the primary key.
-- shard: $1
WITH chosen AS MATERIALIZED (
    SELECT other_id FROM affinity WHERE user_id = $1 ORDER BY other_id LIMIT $2 FOR UPDATE
), gone AS (
    DELETE FROM affinity
    WHERE user_id = $1 AND other_id = ANY (ARRAY(SELECT other_id FROM chosen)::bigint[])
), uncounted AS (
    DELETE FROM affinity_count WHERE user_id = $1 AND (SELECT count(*) FROM chosen) < $2
)
SELECT count(*) FROM chosen

-- name: find_sources_on_citus
-- At most $2 users who have a rank for the user $1: one index range on each machine.
-- shard: fan-out
SELECT user_id FROM affinity
WHERE other_id BETWEEN $1 AND $1 -- an equality would make the ORDER BY redundant
ORDER BY other_id LIMIT $2

-- name: forget_of_on_citus
-- Deletes the ranks that the users $2, who are of one shard, have for the user $1. Rows are locked
-- in the order of the pairs, as by `record`.
-- shard: $2[1]
WITH held AS MATERIALIZED (
    SELECT user_id FROM affinity WHERE user_id = ANY ($2::bigint[]) AND other_id = $1
    ORDER BY user_id FOR UPDATE
), gone AS (
    DELETE FROM affinity
    WHERE user_id = ANY ($2) AND other_id = $1 AND user_id = ANY (ARRAY(SELECT user_id FROM held))
    RETURNING 1
)
SELECT count(*) FROM gone
