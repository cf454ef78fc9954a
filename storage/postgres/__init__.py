"""The truth and its mirror in PostgreSQL."""
