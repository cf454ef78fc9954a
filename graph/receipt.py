"""Receipts: stored results of requests.

A receipt lets a repeated request return the first result, and an undo restore what a change ended.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from graph.edge import Edge, UserId, Version
from graph.outcome import Outcome
from graph.space import current_tag

TOKEN_LENGTH = 22
"""16 bytes in base64, without padding."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """The input of an undo: the edges before an action, and their versions after it."""

    version: Version
    reverse_version: Version
    edge: Edge
    reverse: Edge
    protected: bool = False
    """Whether the other user was protected at that time."""
    message: str | None = None
    """The message of the actor's request."""
    other_message: str | None = None
    """The message of the other user's request."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One stored result. The id is unique for its actor."""

    id: UUID
    digest: bytes
    """The digest of the request: see `digest_of`."""
    outcome: Outcome
    undo: UndoRecord | None = None
    """The state that an undo restores, if there is one."""
    recorded: int = 0
    """The number of recorded interactions."""


SERVICE_ACTOR = UserId(0)
"""The actor of requests that services make for themselves. No user has this id."""


class IdempotentRequest(NamedTuple):
    """A request with an idempotency key. Its receipt is stored under `id`."""

    actor: UserId
    id: UUID
    digest: bytes


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt that was read back."""

    receipt: Receipt
    other: UserId
    """The target of the action."""
    age_us: int


class ReceiptExists(Exception):
    """The actor already has a receipt with this id. Nothing was changed."""

    is_delayed = False
    """Whether readers may not see the change of the first request yet."""


class ReceiptConsumed(Exception):
    """The receipt was consumed concurrently. Nothing was changed."""


class KeyReused(Exception):
    """The actor has used the idempotency key before with another input. Nothing was changed."""


def keyed_id(key: str) -> UUID:
    """The id of the receipt for an idempotency key."""
    return UUID(bytes=sha256(key.encode()).digest()[:16])


def digest_of(*request: object) -> bytes:
    """A digest of a request. Requests are the same if their digests are equal."""
    return sha256(repr(request).encode()).digest()[:16]


def undo_token(receipt_id: UUID) -> str:
    """The token that names a receipt. It is valid for the receipt's actor, in this space."""
    # With one idempotency key in two spaces, two receipts have the same id.
    named = (receipt_id.int ^ current_tag()).to_bytes(16, "big")
    return urlsafe_b64encode(named).decode()[:TOKEN_LENGTH]


def read_undo_token(token: str) -> UUID | None:
    """The receipt id in a token, or None if the token is not in canonical form."""
    if len(token) != TOKEN_LENGTH or not token.isascii():
        return None
    try:
        named = int.from_bytes(urlsafe_b64decode(token + "=="), "big")
        found = UUID(int=named ^ current_tag())
    except ValueError:
        return None
    return found if undo_token(found) == token else None
