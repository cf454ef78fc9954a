"""How many edges a user has. Knows nothing of who may see them."""

from typing import NamedTuple


class Counts(NamedTuple):
    """The totals of one user's three lists."""

    following: int
    followers: int
    friends: int


NO_COUNTS = Counts(0, 0, 0)
