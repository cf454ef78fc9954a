"""The running subscriptions of a process: how many an address has, and the documents they keep."""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from graphql import DocumentNode, GraphQLError

from gateway.graphql.admission_queue import CallerOf
from gateway.graphql.request import RequestRejected
from gateway.graphql.shares import give_back

ADDRESS_DIVISOR = 20
ADDRESS_MIN = 100
"""An address without a token has at most 1/20 of the subscriptions of a process, and may always
have 100."""

CHARACTERS_MAX = 2_000_000
"""The maximum length of all different documents together. Parsed, they take about 200 MB."""

CALLER_DIVISOR = 20
"""A document counts for the caller who used it first. The documents of a caller have at most 1/20
of `CHARACTERS_MAX`, which is the length of the longest document."""


@dataclass(slots=True)
class _KeptDocument:
    """A document that subscriptions keep. The reference keeps its id unique."""

    document: DocumentNode
    first_caller: Hashable
    subscriptions: int = 0


class RunningSubscriptions:
    """Counts the subscriptions of each address, and the documents that all subscriptions keep.

    A subscription keeps its document, which takes about a hundred times as much memory as its text,
    even after the cache of documents has dropped it. Copies of one document are kept once.

    `subscriptions_max` is not enforced here: the limit for an address is a part of it.
    """

    def __init__(
        self, subscriptions_max: int = 20_000, caller_of: CallerOf = lambda _: None
    ) -> None:
        self._caller_of = caller_of
        self._of_address_max = max(ADDRESS_MIN, subscriptions_max // ADDRESS_DIVISOR)
        self._of_addresses: Counter[Hashable] = Counter()
        self._documents: dict[int, _KeptDocument] = {}
        self._characters: Counter[Hashable] = Counter()
        """By the caller who was the first to use the documents."""
        self._all_characters = 0

    def add(
        self, document: DocumentNode, characters: int, context: object, *, is_address: bool
    ) -> Callable[[], None]:
        """Add a subscription of the caller in this context. Returns the function that removes it.

        `is_address`: the caller is an address without a token, whose subscriptions are limited.

        Raises:
            RequestRejected: 503 OVERLOADED above a limit.
        """
        caller = self._caller_of(context)
        if is_address and self._of_addresses[caller] >= self._of_address_max:
            message = f"Your address has {self._of_address_max} subscriptions here, the maximum."
            raise _overloaded(f"{message} End some of them, or sign in.")
        kept = self._documents.get(id(document))
        if kept is None:
            kept = self._documents[id(document)] = self._count(document, characters, caller)
        kept.subscriptions += 1
        if is_address:
            self._of_addresses[caller] += 1

        def remove() -> None:
            if is_address:
                give_back(self._of_addresses, caller)
            kept.subscriptions -= 1
            if kept.subscriptions == 0:
                del self._documents[id(document)]
                give_back(self._characters, kept.first_caller, characters)
                self._all_characters -= characters

        return remove

    def _count(self, document: DocumentNode, characters: int, caller: Hashable) -> _KeptDocument:
        """Count a new document. Raises RequestRejected above a limit."""
        if self._characters[caller] + characters > CHARACTERS_MAX // CALLER_DIVISOR:
            raise _overloaded(
                "The documents of your subscriptions are too long together. Send the same document"
                " with other variables, or end some of them."
            )
        if self._all_characters + characters > CHARACTERS_MAX:
            raise _overloaded("This server has too many subscriptions. Try again later.")
        self._characters[caller] += characters
        self._all_characters += characters
        return _KeptDocument(document, caller)


def _overloaded(message: str) -> RequestRejected:
    return RequestRejected("OVERLOADED", [GraphQLError(message)], 503, {"retry-after": "1"})
