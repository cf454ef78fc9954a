"""Receipts: stored results of requests.

A receipt lets a repeated request return the first result, and an undo restore what a change ended.
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
    """One stored result. The id is unique for its actor."""

    id: UUID
    asked: bytes
    """A digest of the request."""
    outcome: Outcome
    taken: Taken | None = None
    """What an undo can restore, if anything."""
    recorded: int = 0
    """The number of recorded interactions."""


SERVICES = UserId(0)
"""The actor of requests that services make for themselves. No user has this id."""


class Request(NamedTuple):
    """A request with an idempotency key. Its receipt is stored under `id`."""

    actor: UserId
    id: UUID
    asked: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A receipt that was read back."""

    receipt: Receipt
    other: UserId
    """The target of the action."""
    age_us: int


class AlreadyNoted(Exception):
    """The actor already has a receipt with this id. Nothing was changed."""


class AlreadySpent(Exception):
    """The receipt was consumed concurrently. Nothing was changed."""


class KeyReused(Exception):
    """The actor has used the key before with another input. Nothing was changed."""


Note = Callable[[Before, Decision], Receipt | None]
"""A pure function that returns the receipt to write with a decision, if any."""


def no_receipt(_: Before, __: Decision) -> None:
    """Write no receipt, as for most changes."""


def keyed_id(key: str) -> UUID:
    """The id of the receipt for an idempotency key."""
    return UUID(bytes=sha256(key.encode()).digest()[:16])


def digest(*said: object) -> bytes:
    """A digest of a request. Requests are the same if their digests are equal."""
    return sha256(repr(said).encode()).digest()[:16]


def undo_token(receipt_id: UUID) -> str:
    """The token that names a receipt. It is valid for the receipt's actor only."""
    return urlsafe_b64encode(receipt_id.bytes).decode()[:TOKEN_LENGTH]


def read_undo_token(token: str) -> UUID | None:
    """The receipt id in a token, or None if the token is not in canonical form."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    try:
        found = UUID(bytes=urlsafe_b64decode(token + "=="))
    except ValueError:
        return None
    return found if undo_token(found) == token else None
