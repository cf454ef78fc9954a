-- The spaces of a deployment beside its default one, whose schema has the rows.
CREATE TABLE space (
    name       text        PRIMARY KEY,
    state      smallint    NOT NULL DEFAULT 0, -- storage.postgres.spaces.SpaceState
    settings   jsonb       NOT NULL DEFAULT '{}', -- environment variables that differ from the default's
    created_at timestamptz NOT NULL DEFAULT now()
);
