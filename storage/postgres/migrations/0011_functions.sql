-- From here on, functions are in storage/postgres/functions/ and not in migrations.

-- Gateways of the previous version still call this one. A later run drops it: see migrate.py.
INSERT INTO function (name, digest) VALUES ('write_steps', '');

-- A close follow was once called special. The column `following_count.specials` keeps that name,
-- because all reads and writes of running gateways would fail from the moment it is renamed.
ALTER INDEX following_special RENAME TO following_close_follow;
