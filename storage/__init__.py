"""Stores in PostgreSQL and Redis. They take and return batches."""
