"""A back end with Kith: checks relations, fills an inbox from the change feed, exports lists."""
