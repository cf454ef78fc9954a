"""PostgreSQL and Redis: batches in, batches out. Only here are SQL, keys and drivers known."""
