"""The sources of suggestions: affinities, and some users of the space."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol

from graph.edge import Pair, UserId
from graph.receipt import IdempotentRequest


class SampledUsers(Protocol):
    """Some users of the space."""

    async def now(self) -> Sequence[UserId]:
        """Up to 50 users who follow others, or have followed some, spread over all ids. Some
        minutes old at most."""
        ...


class Affinities(Protocol):
    """How close users are to others, from the interactions that services report."""

    async def closest(self, user: UserId) -> Mapping[UserId, float]:
        """The user's highest ranks. Never show them to other users."""
        ...

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Add to the rank of each pair, durably. Returns the pairs, except those with a deleted
        account."""
        ...

    async def record_once(
        self,
        ranks: Mapping[Pair, float],
        request: IdempotentRequest,
        count: Callable[[Set[Pair]], int],
    ) -> int:
        """Like `record`, in one transaction with a receipt of the request. The receipt stores the
        number that `count` computes from the recorded pairs; this number is returned.

        Raises:
            ReceiptExists: the receipt exists; nothing was added.
        """
        ...
