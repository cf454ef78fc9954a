"""Writes that are announced to the caches, to subscribers and to the workers."""
