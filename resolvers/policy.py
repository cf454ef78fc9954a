"""The policy of a space: the limits of one request and of one user, and the rules of follows."""

from dataclasses import dataclass, replace

from graph.account import Account
from graph.decision_types import PairState
from graph.pace import Pace

TWO_A_SECOND = Pace(interval_us=500_000, burst=300)
"""Two changes a second, after up to 300 at once."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a deployment chooses for a space: limits and rules."""

    following_max: int = 1000
    """How many users one account may follow, by default."""
    blocks_max: int = 10_000
    """How many users one account may block."""
    pace: Pace = TWO_A_SECOND
    """How fast one account may make changes."""
    mutual_approval: bool = False
    """Whether every account approves its followers, and an approval makes both follow."""
    whispers_hidden: bool = False
    """Whether a whisper is hidden from its target too."""
    undo_s: int = 900
    """How many seconds a change can be undone."""
    freshness_wait_ms: int = 1000
    """How long a request waits for the freshness that it requires."""
    changes_max: int = 50
    """Changes in one `changeRelationships`."""
    page_max: int = 100
    """Entries of one page."""
    page_default: int = 20
    users_max: int = 100
    """Ids in a list of users or nodes, unless another of these limits applies to it."""
    relations_max: int = 1000
    """Ids in one `relationWith` or `relationMask`."""
    entities_max: int = 10_000
    """More than for other ids, because a federation router resolves all users of a response in one
    request: as many as two nested lists can hold."""
    pairs_max: int = 500
    """Pairs in one `relationsBetween`."""
    interactions_max: int = 500
    """Interactions in one `recordInteractions`."""
    live_relations_max: int = 100
    """How many relations one subscription may watch."""
    counts_every_s: float = 1.0
    """The minimum interval between two reports of counts that change constantly."""

    def account(self, account: Account) -> Account:
        """The account, protected if all follows need mutual approval."""
        if not self.mutual_approval or account.privacy.protected:
            return account
        return replace(account, privacy=replace(account.privacy, protected=True))

    def applied_to(self, state: PairState) -> PairState:
        """The input of a rule, with a protected target if all follows need mutual approval."""
        return replace(state, protected=True) if self.mutual_approval else state
