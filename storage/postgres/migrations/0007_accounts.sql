-- Deactivated and deleted accounts.

ALTER TABLE account
    ADD COLUMN changed_at bigint, -- when the state or the erasure has changed last; NULL: never
    ADD COLUMN deleted_at bigint,
    ADD COLUMN erased_at  bigint; -- when the erasure of a deleted account was finished
-- All in microseconds.

-- The absent accounts whose edges still exist, which are few; the latest changes of states; and the
-- accounts that the workers have to erase.
CREATE INDEX account_absent   ON account (user_id) WHERE state <> 0 AND erased_at IS NULL;
CREATE INDEX account_changed  ON account (changed_at, user_id) WHERE changed_at IS NOT NULL;
CREATE INDEX account_to_erase ON account (deleted_at) WHERE state = 2 AND erased_at IS NULL;

-- Flags without an edge, from either end: in the lists' indexes they are among all tombstones.
CREATE INDEX following_note ON following (from_user_id, to_user_id) WHERE kind = 0 AND flags <> 0;
CREATE INDEX follower_note  ON follower  (to_user_id, from_user_id) WHERE kind = 0 AND flags <> 0;

-- Lines of a load that were skipped: see `kept` in storage/postgres/load/bulk_load.py.
ALTER TABLE bulk_load ADD COLUMN kept bigint NOT NULL DEFAULT 0;
