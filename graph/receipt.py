"""What a user was answered, remembered for a while. Knows nothing of where.

It lets a repeated request be answered alike, and gives back what a change took.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from graph.decision import Before, Decision, Outcome
from graph.edge import UserId
from graph.transitions import Taken

TOKEN_LENGTH = 22
"""16 bytes in base64, without padding."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One answer, under an id of its actor's."""

    id: UUID
    asked: bytes
    """A digest of what was asked for."""
    outcome: Outcome
    taken: Taken | None = None
    """What can be given back, if anything can."""
    recorded: int = 0
    """Of interactions: how many were."""


SERVICES = UserId(0)
"""The actor of whatever services ask for themselves. No user has this id."""


class Request(NamedTuple):
    """What somebody asked for with an idempotency key: what its receipt will be found by."""

    actor: UserId
    id: UUID
    asked: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A receipt as it was found again."""

    receipt: Receipt
    other: UserId
    """To whom it was done."""
    age_us: int


class AlreadyNoted(Exception):
    """The actor has a receipt of that id: nothing was done."""


class AlreadySpent(Exception):
    """What the receipt gives back was given back meanwhile: nothing was done."""


class KeyReused(Exception):
    """The actor has used that key before, with another input: nothing was done."""


Note = Callable[[Before, Decision], Receipt | None]
"""A pure function: which receipt to write with a decision, if any."""


def no_receipt(_: Before, __: Decision) -> None:
    """Most changes need none."""


def keyed_id(key: str) -> UUID:
    """The id of the receipt for an idempotency key."""
    return UUID(bytes=sha256(key.encode()).digest()[:16])


def digest(*said: object) -> bytes:
    """Of what was asked for: equal where all of it was."""
    return sha256(repr(said).encode()).digest()[:16]


def undo_token(receipt_id: UUID) -> str:
    """What an actor names a receipt by. It opens nobody else's."""
    return urlsafe_b64encode(receipt_id.bytes).decode()[:TOKEN_LENGTH]


def read_undo_token(token: str) -> UUID | None:
    """The id that a token names, in its one allowed spelling."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    try:
        found = UUID(bytes=urlsafe_b64decode(token + "=="))
    except ValueError:
        return None
    return found if undo_token(found) == token else None
