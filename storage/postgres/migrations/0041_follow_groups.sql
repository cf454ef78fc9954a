-- Groups of follows, private to their owner. They are not flags of `following`: a follow can be in many
-- groups, hardly any is in one, and no list of others, cache or event contains them.

-- `group_id` is the time of the creation in microseconds, or more if the owner has a group of that
-- microsecond.
CREATE TABLE follow_group (
    user_id    bigint   NOT NULL CHECK (user_id > 0),
    group_id   bigint   NOT NULL CHECK (group_id > 0),
    name       text     NOT NULL CHECK (length(name) BETWEEN 1 AND 50),
    -- Its place when the owner last ordered the groups. Later groups follow in the order of their ids.
    position   smallint NOT NULL DEFAULT 101,
    request_id uuid, -- the receipt of the request that created it
    PRIMARY KEY (user_id, group_id)
);

-- A member is valid while the user's row in `following` is a follow with the same `since`. So the end of
-- a follow hides it without another write, and an undo, which restores the follow with its date, shows it
-- again. A later follow has another date.
CREATE TABLE follow_group_member (
    user_id   bigint NOT NULL,
    target_id bigint NOT NULL CHECK (target_id > 0 AND target_id <> user_id),
    group_id  bigint NOT NULL,
    since     bigint NOT NULL,
    PRIMARY KEY (user_id, target_id, group_id)
);

-- A page of a group is one range of this index, in its order.
CREATE INDEX follow_group_member_list
    ON follow_group_member (user_id, group_id, since DESC, target_id DESC);

-- For the erasure of a deleted user. The user is in it as in `private_note_other`.
CREATE INDEX follow_group_member_target ON follow_group_member (target_id, user_id);
