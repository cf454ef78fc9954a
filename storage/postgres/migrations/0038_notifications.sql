-- Followers who asked to be notified: see graph/edge.py, Flags.NOTIFY. A feed's fan-out reads them from
-- all followers of a user, most of whom did not ask.

CREATE INDEX follower_notified ON follower (to_user_id, kind, since DESC, from_user_id DESC)
    WHERE flags & 16 <> 0;
