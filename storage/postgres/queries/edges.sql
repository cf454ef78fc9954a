-- name: read_for_change
-- Both directions, both counts and both accounts, in one snapshot: six probes of primary keys.
SELECT coalesce(c.follows + c.whispers + c.requests, 0) AS following, coalesce(c.blocks, 0) AS blocks,
       coalesce(c.paced_until, 0) AS paced_until,
       coalesce(bc.follows + bc.whispers + bc.requests, 0) AS back_following,
       f.kind, f.flags, f.since, f.version, f.muted_until, f.message,
       b.kind AS back_kind, b.flags AS back_flags, b.since AS back_since, b.version AS back_version,
       b.message AS back_message,
       own.following_limit, other.following_limit AS back_following_limit,
       coalesce(other.protected, false) AS protected,
       coalesce(own.state, 0) = 0 AND coalesce(other.state, 0) = 0 AS present,
       coalesce(own.state, 0) = 0 AS active,
       2 IN (own.state, other.state) IS TRUE AS deleted,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM (SELECT) AS one
LEFT JOIN following_count c ON c.user_id = $1
LEFT JOIN following_count bc ON bc.user_id = $2
LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
LEFT JOIN following b ON b.from_user_id = $2 AND b.to_user_id = $1
LEFT JOIN account own ON own.user_id = $1
LEFT JOIN account other ON other.user_id = $2

-- name: write_steps
-- Writes the edges, their owners' counts and the outbox rows, if the decision still holds: one row
-- of each for each step, after two probes. The function is in migrations/0005_relationship.sql. A
-- step that begins something ($28) needs a third probe, because a deleted account's edges may only
-- end. The account may still be deleted a moment later, so an erasure waits longer than any
-- statement takes.
SELECT CASE WHEN $28::boolean AND EXISTS (
           SELECT FROM account WHERE user_id IN ($3, $4) AND state = 2
       ) THEN false
       ELSE write_steps($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
                        $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
       END AS written

-- name: write_with_receipt
-- Like write_steps, and inserts a receipt ($29 to $33) of the actor: one more row. Fails with a
-- unique violation if the receipt exists.
WITH change AS MATERIALIZED (
    SELECT CASE WHEN $28::boolean AND EXISTS (
               SELECT FROM account WHERE user_id IN ($3, $4) AND state = 2
           ) THEN false
           ELSE write_steps($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                            $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
           END AS written
), receipt AS (
    INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, taken, messages)
    SELECT $3, $29, $4, $11, $30, $31, $32, $33 FROM change WHERE written
)
SELECT written FROM change

-- name: write_and_spend
-- Like write_with_receipt, and consumes another receipt ($34) of the actor: sets its version to one
-- that no edge has, and deletes its messages. Returns NULL and writes nothing if it was consumed
-- already. The new receipt is optional.
WITH change AS MATERIALIZED (
    SELECT CASE WHEN $28::boolean AND EXISTS (
               SELECT FROM account WHERE user_id IN ($3, $4) AND state = 2
           ) THEN false
           -- Locked, so that the second of two concurrent consumers finds it consumed.
           WHEN NOT EXISTS (
               SELECT FROM receipt WHERE actor_id = $3 AND id = $34 AND taken[1] <> -1 FOR UPDATE
           ) THEN NULL
           ELSE write_steps($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                            $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
           END AS written
), spent AS (
    UPDATE receipt SET taken[1] = -1, messages = NULL FROM change
    WHERE written AND actor_id = $3 AND id = $34
), receipt AS (
    INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, taken, messages)
    SELECT $3, $29, $4, $11, $30, $31, $32, $33 FROM change WHERE written AND $29::uuid IS NOT NULL
)
SELECT written FROM change
