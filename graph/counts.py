"""How many edges a user has, by kind."""

from typing import NamedTuple, cast


class Counts(NamedTuple):
    """The totals of one user's lists. Only the user may see the ones after `friends`."""

    following: int
    followers: int
    friends: int
    whispers: int = 0
    """How many users this user follows by a whisper."""
    whispered: int = 0
    """How many users follow this user by a whisper."""
    outgoing_requests: int = 0
    incoming_requests: int = 0
    blocks: int = 0
    blocked: int = 0
    """How many users block this user. Never shown."""
    close_follows: int = 0
    mutes: int = 0
    absent: "Counts | None" = None
    """How many in each total are deactivated or deleted accounts; 0 for `blocks`, `blocked` and
    `mutes`, whose totals include them. None: there are none."""

    @property
    def without_absent(self) -> "Counts":
        """The totals without absent accounts, for every reader except a service that acts for no
        user. Those of blocks and mutes still include them."""
        if self.absent is None:
            return self
        # Totals and absent counts are read at different times, so an absent count may be greater.
        pairs = zip(self.numbers, self.absent.numbers, strict=True)
        return Counts._make([*(max(0, of_all - absent) for of_all, absent in pairs), None])

    @property
    def numbers(self) -> tuple[int, ...]:
        """All totals in order, without `absent`."""
        return cast("tuple[int, ...]", self[:-1])


NO_COUNTS = Counts(0, 0, 0)


class Limit(NamedTuple):
    """The maximum number of edges or groups a user may have, and the current number."""

    limit: int
    current: int

    @property
    def remaining(self) -> int:
        """How many more are allowed: 0 also where a limit was lowered below `current`."""
        return max(0, self.limit - self.current)
