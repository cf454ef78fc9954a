"""What is known of a user besides their edges: of nearly everybody, nothing.

Knows nothing of who sees what: that is `graph.visibility`.
"""

from dataclasses import dataclass, replace

from graph.decision import Outcome
from graph.edge import Millis
from graph.visibility import OPEN, Audience, Privacy


@dataclass(frozen=True, slots=True)
class Account:
    """A user's own settings, and those that a service has made for them."""

    privacy: Privacy = OPEN
    following_limit: int | None = None
    """How many users this one may follow; None: as many as everybody."""


DEFAULT = Account()
"""The account of everybody of whom nothing was ever said."""


@dataclass(frozen=True, slots=True)
class PrivacyChange:
    """What a user says anew about who may see them; None: as it was."""

    protected: bool | None = None
    following: Audience | None = None
    followers: Audience | None = None

    def of(self, account: Account) -> Account:
        """The account as it is after it."""
        was = account.privacy
        privacy = replace(
            was,
            protected=was.protected if self.protected is None else self.protected,
            following=was.following if self.following is None else self.following,
            followers=was.followers if self.followers is None else self.followers,
        )
        return replace(account, privacy=privacy)


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a change of an account, and the account as it is then."""

    outcome: Outcome
    account: Account
    retry_at: Millis | None = None
    """When to try again, where its user was too fast."""
