-- What an event says besides the edge: what it was before, and who of the two changed it.

ALTER TABLE outbox
    ADD COLUMN former    smallint NOT NULL DEFAULT 0,     -- the kind before the change
    ADD COLUMN by_target boolean  NOT NULL DEFAULT false; -- whether to_user_id made the change
