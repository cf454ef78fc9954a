"""The settings of an account, and changes of them."""

from dataclasses import dataclass, replace

from graph.edge import Millis
from graph.outcome import Outcome
from graph.privacy import OPEN, Audience, Privacy


@dataclass(frozen=True, slots=True)
class Account:
    """A user's own settings, and those that a service has set for the user."""

    privacy: Privacy = OPEN
    following_limit: int | None = None
    """How many users this one may follow. None: as many as the default limit allows."""


DEFAULT = Account()
"""The account of a user without stored settings."""


@dataclass(frozen=True, slots=True)
class PrivacyChange:
    """A change of a user's privacy settings. None leaves a setting as it is."""

    protected: bool | None = None
    following: Audience | None = None
    followers: Audience | None = None

    def applied_to(self, account: Account) -> Account:
        """The account after this change."""
        previous = account.privacy
        privacy = replace(
            previous,
            protected=previous.protected if self.protected is None else self.protected,
            following=previous.following if self.following is None else self.following,
            followers=previous.followers if self.followers is None else self.followers,
        )
        return replace(account, privacy=privacy)


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of changing an account's settings, and the settings afterwards: the old ones, if
    the change was rejected."""

    outcome: Outcome
    account: Account
    retry_at: Millis | None = None
    """When to try again, if the change was rate limited."""
    is_delayed: bool = False
    """Whether readers may not see the change yet: the caches could not be updated."""
