-- name: find_receipts
-- The receipts $2 of the user $1, and their ages in microseconds: a probe each.
-- shard: $1
SELECT id, asked, other_id, outcome, taken, messages, recorded,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - made_at AS age_us
FROM receipt WHERE actor_id = $1 AND id = ANY ($2::uuid[])

-- name: write_receipt
-- Inserts a receipt of the user $1 for a change without an edge: one row. Fails with a unique
-- violation if it exists.
-- shard: $1
INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: write_interactions_receipt
-- Inserts the receipt of a batch of interactions, of which $5 were recorded: one row. It concerns
-- no single other user.
-- shard: $1
INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, recorded)
VALUES ($1, $2, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $3, $4, $5)
