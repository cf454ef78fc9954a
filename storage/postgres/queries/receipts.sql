-- name: find_receipts
-- The receipts $2 of the user $1, as far as there are any, and their ages in microseconds: probes.
SELECT id, asked, other_id, outcome, taken,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - made_at AS age_us
FROM receipt WHERE actor_id = $1 AND id = ANY ($2::uuid[])
