"""Privacy settings: who may follow an account at once, and who may open its lists."""

from dataclasses import dataclass
from enum import IntEnum


class Audience(IntEnum):
    """The users who may open a list. The numbers are stored."""

    EVERYONE = 0
    FOLLOWERS = 1
    FRIENDS = 2
    ONLY_ME = 3


@dataclass(frozen=True, slots=True)
class Privacy:
    """An account's privacy settings."""

    protected: bool = False
    """Whether only approved users can follow the account and open its lists."""
    following: Audience = Audience.EVERYONE
    followers: Audience = Audience.EVERYONE
    present: bool = True
    """Whether the account is active: neither deactivated nor deleted."""

    @property
    def is_open(self) -> bool:
        """Whether everything is public, as for nearly all accounts."""
        return self == OPEN


OPEN = Privacy()
"""The privacy of an active account whose follows and lists are open to everybody."""
