"""The sources of suggestions: affinities, and a sample of the users of the space."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol

from graph.edge import Pair, UserId
from graph.receipt import IdempotentRequest


class SampledUsers(Protocol):
    """A sample of the users of the space."""

    async def now(self) -> Sequence[UserId]:
        """Up to 50 users who follow or have followed others, spread over all ids. The sample is
        some minutes old at most."""
        ...


class Affinities(Protocol):
    """How close users are to others, from the interactions that services report."""

    async def closest(self, user: UserId) -> Mapping[UserId, float]:
        """The users with the highest ranks for this user, and their ranks. Never show the ranks."""
        ...

    async def record(self, ranks: Mapping[Pair, float]) -> Set[Pair]:
        """Add each of `ranks` to the stored rank of its pair, durably: ranks are logarithms of
        scores, and the scores are added. Returns the pairs, except those with a deleted account."""
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
