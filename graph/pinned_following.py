"""Users whom a user follows and has pinned: shown first to that user, in an order of their own."""

PINNED_MAX = 10
