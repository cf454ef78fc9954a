-- name: read_for_change
-- Both directions and the actor's count, in one snapshot: three probes of primary keys.
SELECT coalesce(c.follows, 0) AS follows,
       f.kind, f.flags, f.since, f.version,
       b.kind AS back_kind, b.flags AS back_flags, b.since AS back_since, b.version AS back_version,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now
FROM (SELECT) AS one
LEFT JOIN following_count c ON c.user_id = $1
LEFT JOIN following f ON f.from_user_id = $1 AND f.to_user_id = $2
LEFT JOIN following b ON b.from_user_id = $2 AND b.to_user_id = $1

-- name: write_change
-- The edge, the actor's count and the outbox row, if the decision still holds: one row of each,
-- after two probes. The function is in migrations/0003_write_change.sql.
SELECT write_change($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS written
