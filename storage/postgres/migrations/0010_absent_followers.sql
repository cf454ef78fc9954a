-- The number of a user's absent followers, because looking up each follower of a long list is slow.

ALTER TABLE follower_count
    ADD COLUMN absent_follows  bigint NOT NULL DEFAULT 0,
    ADD COLUMN absent_whispers bigint NOT NULL DEFAULT 0,
    ADD COLUMN absent_requests bigint NOT NULL DEFAULT 0;

-- Whether the edges of an absent account are counted there. After a change of the account's state, a
-- worker finds it by the second index and updates the counts.
ALTER TABLE account ADD COLUMN is_counted boolean NOT NULL DEFAULT false;

CREATE INDEX account_counted  ON account (user_id) WHERE is_counted;
CREATE INDEX account_to_count ON account (changed_at, user_id)
    WHERE is_counted <> (state <> 0 AND erased_at IS NULL);
