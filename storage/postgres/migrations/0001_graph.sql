-- The graph: edges in both directions, their counts, and the outbox between the two.
--
-- Every table of users is placed by its first column, and all of them share its type, so that on
-- Citus they are distributed and colocated (there, leave the partitions out). `since` is in
-- milliseconds, `version` in microseconds since 1970. kind: 0 NONE (a tombstone), 1 FOLLOW,
-- 2 WHISPER, 3 REQUEST, 4 BLOCK; flags: 1 CLOSE_FOLLOW, 2 MUTED.

-- The source of truth: the edges of from_user_id.
CREATE TABLE following (
    from_user_id bigint   NOT NULL CHECK (from_user_id > 0),
    to_user_id   bigint   NOT NULL CHECK (to_user_id > 0 AND to_user_id <> from_user_id),
    since        bigint   NOT NULL CHECK (since BETWEEN 0 AND 281474976710655),
    version      bigint   NOT NULL,
    kind         smallint NOT NULL CHECK (kind BETWEEN 0 AND 4),
    flags        smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (from_user_id, to_user_id)
) PARTITION BY HASH (from_user_id);

-- The reverse rows, derived by the workers: the edges to to_user_id.
CREATE TABLE follower (
    to_user_id   bigint   NOT NULL,
    from_user_id bigint   NOT NULL,
    since        bigint   NOT NULL,
    version      bigint   NOT NULL,
    kind         smallint NOT NULL,
    flags        smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (to_user_id, from_user_id)
) PARTITION BY HASH (to_user_id);

DO $$
DECLARE
    parts integer := coalesce(nullif(current_setting('kith.partitions', true), ''), '16')::integer;
BEGIN
    FOR i IN 0 .. parts - 1 LOOP
        EXECUTE format('CREATE TABLE following_%s PARTITION OF following
                        FOR VALUES WITH (MODULUS %s, REMAINDER %s)', i, parts, i);
        EXECUTE format('CREATE TABLE follower_%s PARTITION OF follower
                        FOR VALUES WITH (MODULUS %s, REMAINDER %s)', i, parts, i);
    END LOOP;
END $$;

-- A page of one kind is one range of these indexes, in their order.
CREATE INDEX following_list ON following (from_user_id, kind, since DESC, to_user_id DESC);
CREATE INDEX follower_list  ON follower  (to_user_id, kind, since DESC, from_user_id DESC);

-- For the purge.
CREATE INDEX following_tombstone ON following (version) WHERE kind = 0;
CREATE INDEX follower_tombstone  ON follower  (version) WHERE kind = 0;

-- Two tables, so that a user's own writes and the workers never wait for each other's row. A user's
-- number of friends is the sum of both columns `friends`.
CREATE TABLE following_count (
    user_id bigint PRIMARY KEY,
    follows integer NOT NULL DEFAULT 0,
    friends integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

CREATE TABLE follower_count (
    user_id bigint PRIMARY KEY,
    follows bigint  NOT NULL DEFAULT 0,
    friends integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);

-- Changes of forward rows that the reverse rows or the caches may lack. A row is inserted with its
-- change, applied by a drain, published to the caches, and then deleted.
CREATE TABLE outbox (
    id           bigint   GENERATED ALWAYS AS IDENTITY,
    lane         smallint NOT NULL,
    from_user_id bigint   NOT NULL,
    to_user_id   bigint   NOT NULL,
    since        bigint   NOT NULL,
    version      bigint   NOT NULL,
    kind         smallint NOT NULL,
    flags        smallint NOT NULL,
    friends      smallint NOT NULL, -- the change of to_user_id's number of friends
    applied      boolean  NOT NULL DEFAULT false,
    PRIMARY KEY (from_user_id, id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE INDEX outbox_lane ON outbox (lane, id);
