-- How many of a user's followers are absent, counted: of long lists nobody wants to look each up.

ALTER TABLE follower_count
    ADD COLUMN absent_follows  bigint NOT NULL DEFAULT 0,
    ADD COLUMN absent_whispers bigint NOT NULL DEFAULT 0,
    ADD COLUMN absent_requests bigint NOT NULL DEFAULT 0;

-- Whether the edges of an account are among those. Workers make it so after a change of its state;
-- until then it is found by the second index. After this migration they have to look at all.
ALTER TABLE account ADD COLUMN is_counted boolean NOT NULL DEFAULT false;

CREATE INDEX account_counted  ON account (user_id) WHERE is_counted;
CREATE INDEX account_to_count ON account (changed_at, user_id)
    WHERE is_counted <> (state <> 0 AND erased_at IS NULL);
