"""The formats of the cached values."""
