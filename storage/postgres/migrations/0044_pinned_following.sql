-- The users whom a user has pinned among those they follow, in order. `since` is that of the follow:
-- a pin counts only while that follow lasts, so nothing has to be deleted when it ends, and an undo,
-- which restores the date, restores the pin. Not columns of `following`: hardly anybody pins, and a
-- list is replaced as a whole.
CREATE TABLE pinned_following (
    user_id  bigint   NOT NULL CHECK (user_id > 0),
    position smallint NOT NULL CHECK (position BETWEEN 0 AND 9),
    other_id bigint   NOT NULL CHECK (other_id > 0 AND other_id <> user_id),
    since    bigint   NOT NULL,
    PRIMARY KEY (user_id, position)
);

-- For the erasure of a deleted user. The owner is in it so that PostgreSQL, if it prefers this index
-- for reading pins, reads no pins of other users.
CREATE INDEX pinned_following_other ON pinned_following (other_id, user_id);
