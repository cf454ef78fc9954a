"""Caches over the stores in PostgreSQL, in any server that speaks Redis's protocol."""
