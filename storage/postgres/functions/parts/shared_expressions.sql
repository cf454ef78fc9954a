-- Parts of functions/write_decision.sql, which writes one decision, and of
-- functions/write_batch.sql, which writes many. `d` is the decision, and `step` a row of `steps`:
-- records in write_decision.sql, tables in write_batch.sql. `c` is a count row.

-- name: decision_fields
actor bigint, other bigint, version bigint, reverse_version bigint, now bigint, begins boolean,
steps jsonb, receipt jsonb, consumes uuid, trace text, other_following_below integer

-- name: is_current
-- Both edges have the versions that the decision was made from.
d.version = coalesce((
    SELECT f.version FROM following f WHERE f.from_user_id = d.actor AND f.to_user_id = d.other
), 0) AND d.reverse_version = coalesce((
    SELECT f.version FROM following f WHERE f.from_user_id = d.other AND f.to_user_id = d.actor
), 0)

-- name: begins_with_a_deleted_account
-- Edges of a deleted account may only end. An account may still be deleted after this check, so an
-- erasure waits longer than any statement takes.
d.begins AND EXISTS (
    SELECT 1 FROM account a WHERE a.user_id IN (d.actor, d.other) AND a.state = 2
)

-- name: steps
-- The steps, with what each adds to the counts of its source. The column `specials` counts close
-- follows: see migrations/0011_functions.sql. Each step is counted alone, so the columns `…_before`
-- are 0.
SELECT s.*, d.actor, d.now, d.trace,
       (s.kind = 1)::integer - (s.previous_kind = 1)::integer AS follows,
       (s.kind = 2)::integer - (s.previous_kind = 2)::integer AS whispers,
       (s.kind = 3)::integer - (s.previous_kind = 3)::integer AS requests,
       (s.kind = 4)::integer - (s.previous_kind = 4)::integer AS blocks,
       (s.kind IN (1, 2) AND s.flags & 1 <> 0)::integer
           - (s.previous_kind IN (1, 2) AND s.previous_flags & 1 <> 0)::integer AS specials,
       (s.flags & 2 <> 0)::integer - (s.previous_flags & 2 <> 0)::integer AS mutes,
       0 AS following_before, 0 AS blocks_before, 0 AS pace_before
FROM jsonb_to_recordset(d.steps) AS s (
    source bigint, target bigint, kind smallint, flags smallint, since bigint, version bigint,
    previous_kind smallint, previous_flags smallint, friends smallint, message text,
    muted_until bigint, following_below integer, blocks_below integer, pace_us bigint,
    paced_most bigint, paced_latest bigint)

-- name: count_columns
user_id, follows, whispers, requests, blocks, specials, mutes, friends, paced_until

-- name: count_values
step.source, step.follows, step.whispers, step.requests, step.blocks, step.specials, step.mutes,
step.friends, coalesce(step.now + step.pace_us, 0)

-- name: added_counts
follows = c.follows + excluded.follows, whispers = c.whispers + excluded.whispers,
requests = c.requests + excluded.requests, blocks = c.blocks + excluded.blocks,
specials = c.specials + excluded.specials, mutes = c.mutes + excluded.mutes,
friends = c.friends + excluded.friends

-- name: new_paced_until
-- Null if the step is not charged.
CASE WHEN c.paced_until > step.paced_latest THEN step.now ELSE greatest(c.paced_until, step.now) END
    + step.pace_us

-- name: is_within_limits
-- Whether the conditions of a step hold after `following_before`, `blocks_before` and `pace_before`
-- were added to its count.
coalesce(c.follows + c.whispers + c.requests + step.following_before < step.following_below, true)
AND coalesce(c.blocks + step.blocks_before < step.blocks_below, true)
AND coalesce(
    c.paced_until > step.paced_latest
        OR greatest(c.paced_until, step.now) + step.pace_before <= step.paced_most,
    true)

-- name: edge_columns
from_user_id, to_user_id, kind, flags, since, version, message, muted_until

-- name: edge_values
step.source, step.target, step.kind, step.flags, step.since, step.version, step.message,
step.muted_until

-- name: new_edge
kind = excluded.kind, flags = excluded.flags, since = excluded.since, version = excluded.version,
message = CASE WHEN f.kind = 3 AND excluded.kind = 3
               THEN coalesce(excluded.message, f.message) ELSE excluded.message END

-- name: outbox_columns
-- The column `lane` comes before these. The statement that inserts the row computes it, because
-- that statement may have waited for a change of the number of lanes. `former` is the edge's
-- kind + 16 * its flags, before the step.
from_user_id, to_user_id, kind, flags, since, version, friends, former, by_target, trace

-- name: outbox_values
step.source, step.target, step.kind, step.flags, step.since, step.version, step.friends,
step.previous_kind + 16 * step.previous_flags, step.source <> step.actor, step.trace

-- name: receipt_columns
-- `asked` is the digest of the request, `taken` the undo record.
actor_id, id, other_id, made_at, asked, outcome, taken, messages

-- name: receipt_values
d.actor, r.id, d.other, d.now, r.digest, r.outcome, r.undo, r.messages

-- name: receipt_fields
id uuid, digest bytea, outcome text, undo bigint[], messages text[]
