"""The read-through cache: relations, lists and profiles."""
