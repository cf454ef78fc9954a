-- The graph of one space in the form that PostGraphile's guides recommend: a table of accounts,
-- views with smart tags over Kith's rows, and functions. {space} is replaced by the space's schema.
DROP SCHEMA IF EXISTS peer CASCADE;
CREATE SCHEMA peer;

CREATE TABLE peer.account AS
SELECT user_id AS id,
       coalesce(f.follows, 0)::integer AS following_count,
       coalesce(r.follows, 0)::integer AS follower_count,
       (coalesce(f.friends, 0) + coalesce(r.friends, 0))::integer AS friend_count
FROM {space}.following_count f
FULL JOIN {space}.follower_count r USING (user_id);
ALTER TABLE peer.account ADD PRIMARY KEY (id);

CREATE VIEW peer.follow AS
SELECT from_user_id AS from_id, to_user_id AS to_id, since,
       to_timestamp(since / 1000.0) AS followed_at
FROM {space}.following WHERE kind = 1;
COMMENT ON VIEW peer.follow IS
    E'@primaryKey from_id,to_id\n'
    '@foreignKey (from_id) references peer.account (id)|@foreignFieldName following\n'
    '@foreignKey (to_id) references peer.account (id)|@fieldName to|@foreignBehavior -*';

CREATE VIEW peer.follower AS
SELECT to_user_id AS to_id, from_user_id AS from_id, since,
       to_timestamp(since / 1000.0) AS followed_at
FROM {space}.follower WHERE kind = 1;
COMMENT ON VIEW peer.follower IS
    E'@primaryKey to_id,from_id\n'
    '@foreignKey (to_id) references peer.account (id)|@foreignFieldName followers\n'
    '@foreignKey (from_id) references peer.account (id)|@fieldName from|@foreignBehavior -*';

CREATE TYPE peer.relation_state AS ENUM ('NONE', 'FOLLOWING', 'FOLLOWED_BY', 'FRIENDS', 'SELF');
CREATE TYPE peer.other AS (id bigint);
CREATE TYPE peer.relation AS (
    "to" peer.other,
    state peer.relation_state,
    following boolean,
    followed_by boolean,
    followed_at timestamptz,
    followed_by_at timestamptz,
    friends_since timestamptz
);

-- The relations of one account to others: two probes of primary keys for each.
CREATE FUNCTION peer.relations(of_id bigint, ids bigint[]) RETURNS SETOF peer.relation
LANGUAGE sql STABLE AS $$
    SELECT ROW(o.id)::peer.other,
           (CASE WHEN o.id = of_id THEN 'SELF'
                 WHEN f.since IS NOT NULL AND r.since IS NOT NULL THEN 'FRIENDS'
                 WHEN f.since IS NOT NULL THEN 'FOLLOWING'
                 WHEN r.since IS NOT NULL THEN 'FOLLOWED_BY'
                 ELSE 'NONE' END)::peer.relation_state,
           f.since IS NOT NULL,
           r.since IS NOT NULL,
           to_timestamp(f.since / 1000.0),
           to_timestamp(r.since / 1000.0),
           CASE WHEN f.since IS NOT NULL AND r.since IS NOT NULL
                THEN to_timestamp(greatest(f.since, r.since) / 1000.0) END
    FROM unnest(ids) WITH ORDINALITY AS o (id, turn)
    LEFT JOIN {space}.following f
        ON f.from_user_id = of_id AND f.to_user_id = o.id AND f.kind = 1
    LEFT JOIN {space}.follower r
        ON r.to_user_id = of_id AND r.from_user_id = o.id AND r.kind = 1
    ORDER BY o.turn
$$;
COMMENT ON FUNCTION peer.relations IS '@behavior -*';

CREATE FUNCTION peer.account_relation_with(account peer.account, ids bigint[])
RETURNS SETOF peer.relation
LANGUAGE sql STABLE AS $$ SELECT * FROM peer.relations(account.id, ids) $$;
COMMENT ON FUNCTION peer.account_relation_with IS '@behavior +list -connection';

CREATE FUNCTION peer.account_viewer_relation(account peer.account) RETURNS peer.relation
LANGUAGE sql STABLE AS $$
    SELECT * FROM peer.relations(current_setting('peer.viewer')::bigint, ARRAY[account.id])
$$;

CREATE FUNCTION peer.users(ids bigint[]) RETURNS SETOF peer.account
LANGUAGE sql STABLE AS $$
    SELECT a.* FROM unnest(ids) WITH ORDINALITY AS o (id, turn)
    JOIN peer.account a ON a.id = o.id ORDER BY o.turn
$$;
COMMENT ON FUNCTION peer.users IS '@behavior +list -connection';
