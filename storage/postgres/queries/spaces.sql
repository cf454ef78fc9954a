-- name: all
-- One index range of a small table.
-- shard: local
SELECT name, state, settings, created_at FROM space ORDER BY name

-- name: create
-- Adds a space in the state $2 with the settings $3. No row: there is one of this name.
-- shard: local
INSERT INTO space (name, state, settings) VALUES ($1, $2, $3::jsonb)
ON CONFLICT (name) DO NOTHING RETURNING name

-- name: set_state
-- shard: local
UPDATE space SET state = $2 WHERE name = $1 RETURNING name

-- name: set_settings
-- shard: local
UPDATE space SET settings = $2::jsonb WHERE name = $1 RETURNING name

-- name: remove
-- shard: local
DELETE FROM space WHERE name = $1

-- name: has_schema
-- shard: local
SELECT 1 FROM pg_namespace WHERE nspname = $1
