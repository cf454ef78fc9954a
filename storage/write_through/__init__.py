"""Stores that write to PostgreSQL, then update the caches, and wake subscriptions and workers."""
