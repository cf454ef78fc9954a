"""What is known of a user besides their edges: of nearly everybody, nothing.

Knows nothing of who sees what: that is `graph.visibility`.
"""

from dataclasses import dataclass

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
