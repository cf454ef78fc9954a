-- Up to which moment a user has seen their followers, in milliseconds; 0: never. In the row of the
-- counts that a user's own writes change, because only the user sets it and nearly every user with
-- followers has that row. `account` has a row of hardly any user, and on Citus each machine a copy.
ALTER TABLE following_count ADD COLUMN followers_seen bigint NOT NULL DEFAULT 0;
