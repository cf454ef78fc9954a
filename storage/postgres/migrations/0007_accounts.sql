-- Accounts that go away: switched off for a time, or deleted for good.

ALTER TABLE account
    ADD COLUMN changed_at bigint, -- when the state, or what is left, has changed; NULL: it never has
    ADD COLUMN deleted_at bigint,
    ADD COLUMN erased_at  bigint; -- since when nothing is left of a deleted account
-- All in microseconds.

-- Who is not here and still stands in lists: nearly nobody. Then what has changed lately, and what
-- the workers have to erase.
CREATE INDEX account_absent   ON account (user_id) WHERE state <> 0 AND erased_at IS NULL;
CREATE INDEX account_changed  ON account (changed_at, user_id) WHERE changed_at IS NOT NULL;
CREATE INDEX account_to_erase ON account (deleted_at) WHERE state = 2 AND erased_at IS NULL;

-- Notes without an edge, from either end: what the lists' indexes find among all tombstones only.
CREATE INDEX following_note ON following (from_user_id, to_user_id) WHERE kind = 0 AND flags <> 0;
CREATE INDEX follower_note  ON follower  (to_user_id, from_user_id) WHERE kind = 0 AND flags <> 0;

-- Lines of a load whose edge must not be: see storage/postgres/bulk_load.py.
ALTER TABLE bulk_load ADD COLUMN kept bigint NOT NULL DEFAULT 0;
