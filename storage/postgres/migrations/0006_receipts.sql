-- What a user was answered, for a while: so that a repeated request is answered alike, and what a
-- change took can be given back.
CREATE TABLE receipt (
    actor_id bigint NOT NULL,
    id       uuid   NOT NULL, -- made from the idempotency key, or drawn by lot
    asked    bytea  NOT NULL, -- a digest of what was asked for
    other_id bigint NOT NULL,
    outcome  text   NOT NULL,
    -- The versions that the change left behind, then the kind, flags, since and version of both
    -- edges before it. NULL: there is nothing to give back.
    taken    bigint[],
    made_at  bigint NOT NULL, -- microseconds
    PRIMARY KEY (actor_id, id)
);

-- What the purge of receipts looks for.
CREATE INDEX receipt_made_at ON receipt (made_at);

-- Some rows without a kind are notes (muted, dismissed), which are nothing for the purge.
DROP INDEX following_tombstone;
CREATE INDEX following_tombstone ON following (version) WHERE kind = 0 AND flags = 0;
