"""Connections to PostgreSQL: opened, pooled and bounded; transactions and locks."""
