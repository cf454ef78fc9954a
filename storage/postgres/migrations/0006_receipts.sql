-- Results of requests, kept for a while: a repeated request gets the first result, and an undo
-- restores what a change ended.
CREATE TABLE receipt (
    actor_id bigint NOT NULL,
    id       uuid   NOT NULL, -- derived from the idempotency key, or random
    asked    bytea  NOT NULL, -- a digest of the request
    other_id bigint NOT NULL,
    outcome  text   NOT NULL,
    -- The undo record: the versions of both edges after the change, then the kind, flags, since and
    -- version of both edges before it. NULL: there is nothing to undo.
    taken    bigint[],
    made_at  bigint NOT NULL, -- microseconds
    PRIMARY KEY (actor_id, id)
);

-- For the purge of receipts.
CREATE INDEX receipt_made_at ON receipt (made_at);

-- Rows without a kind that have flags (muted, dismissed) are not purged.
DROP INDEX following_tombstone;
CREATE INDEX following_tombstone ON following (version) WHERE kind = 0 AND flags = 0;
