-- name: find_receipts
-- The receipts $2 of the user $1, as far as there are any, and their ages in microseconds: probes.
SELECT id, asked, other_id, outcome, taken, messages, recorded,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - made_at AS age_us
FROM receipt WHERE actor_id = $1 AND id = ANY ($2::uuid[])

-- name: write_receipt
-- A receipt of the user $1, where no edge is written with it: one row. There may already be one.
INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: write_receipt_of_batch
-- The same where many were asked for at once, of whom $5 were recorded. It is nobody's but the actor's.
INSERT INTO receipt (actor_id, id, other_id, made_at, asked, outcome, recorded)
VALUES ($1, $2, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $3, $4, $5)
