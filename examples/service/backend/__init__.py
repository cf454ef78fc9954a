"""A back end beside Kith: checks relations, keeps an inbox by the change feed, exports lists."""
