-- name: find_notes
-- The notes of the user $1 about the users $2: a probe each.
-- shard: $1
SELECT other_id, note FROM private_note WHERE author_id = $1 AND other_id = ANY ($2::bigint[])

-- name: account_states_of_note
-- The states of the accounts $1 and $2, and the clock in microseconds: two probes.
-- shard: local
SELECT coalesce((SELECT state FROM account WHERE user_id = $1), 0) AS author,
       coalesce((SELECT state FROM account WHERE user_id = $2), 0) AS other,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now

-- name: write_note
-- Sets the note of the user $1 about the user $2. Returns a row if that changes it: one probe.
-- shard: $1
INSERT INTO private_note AS n (author_id, other_id, note) VALUES ($1, $2, $3)
ON CONFLICT (author_id, other_id) DO UPDATE SET note = excluded.note WHERE n.note <> excluded.note
RETURNING author_id

-- name: delete_note
-- Deletes the note of the user $1 about the user $2. Returns a row if there was one: one probe.
-- shard: $1
DELETE FROM private_note WHERE author_id = $1 AND other_id = $2 RETURNING author_id
