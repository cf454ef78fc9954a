-- A share of each batch for every target, and changes that cannot be applied.

-- The oldest changes towards one user, and the next user with changes, in one probe each: a drain
-- gives every target a share of a batch, however many changes wait for one of them.
CREATE INDEX outbox_target ON outbox (lane, to_user_id, id);

ALTER TABLE outbox
    ADD COLUMN tries smallint NOT NULL DEFAULT 0, -- failed attempts to apply it
    ADD COLUMN error text; -- of the last one

-- Refuses at the write what no drain could apply. Ids below zero belong to no user. The rows that
-- exist are checked separately, so that writes wait only for the first step.
ALTER TABLE outbox
    ADD CONSTRAINT outbox_users CHECK (
        from_user_id <> to_user_id AND from_user_id <> 0 AND to_user_id <> 0
        AND (from_user_id > 0) = (to_user_id > 0)
    ) NOT VALID,
    ADD CONSTRAINT outbox_edge CHECK (
        kind BETWEEN 0 AND 4 AND flags >= 0 AND since BETWEEN 0 AND 281474976710655
    ) NOT VALID,
    ADD CONSTRAINT outbox_previous CHECK (former >= 0 AND former & 15 <= 4) NOT VALID,
    ADD CONSTRAINT outbox_friends CHECK (friends BETWEEN -1 AND 1) NOT VALID;
ALTER TABLE outbox
    VALIDATE CONSTRAINT outbox_users, VALIDATE CONSTRAINT outbox_edge,
    VALIDATE CONSTRAINT outbox_previous, VALIDATE CONSTRAINT outbox_friends;
