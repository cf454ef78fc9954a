"""The stores in PostgreSQL: forward rows, the reverse rows derived from them, the outbox,
accounts, and what jobs and commands need."""
