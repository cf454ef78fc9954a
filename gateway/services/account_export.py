"""`/export/account/{user}` and `export --subject`: all that is stored about one user.

The document is written entry by entry, so that it needs the same memory for a user with a million
followers. `schema/account-export.schema.json` describes it.
"""

import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import singledispatch
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import orjson

from engine import Turns
from gateway.services.export_lines import date_text
from gateway.services.streams import Chunks, Stream, StreamRequest, reject_unknown_parameters
from gateway.settings.config import Config
from graph.account_export import (
    AccountEntry,
    AffinityEntry,
    GroupEntry,
    IncomingEntry,
    MemberEntry,
    NoteEntry,
    OutgoingEntry,
    PinEntry,
    ReceiptEntry,
)
from graph.edge import Edge, Flags, Millis, UserId, user_id_of
from graph.errors import BadInput
from resolvers.account_export import Part, account_parts
from resolvers.scope import Scope
from storage.stores import open_stores

FORMAT = "kith.account-export.1"
"""The value of the document's field `format`. A change that readers must know raises the number."""

SLICE = 50
"""The entries that are written in one turn of the event loop: 0.2 ms."""


@dataclass(frozen=True, slots=True)
class AccountExports:
    """Begins account exports. Their entries are written in `turns` of the event loop."""

    turns: Turns

    async def begin(self, request: StreamRequest) -> Stream:
        """Check a request, and begin its export.

        Raises:
            BadInput: a parameter is invalid.
            Unavailable: PostgreSQL cannot be reached.
        """
        reject_unknown_parameters(request.query, ())
        user = user_id_of(request.path["user"])
        if user is None:
            raise BadInput("user", "must be a user's id.")
        parts = account_parts(request.scope, user)
        first = await anext(parts)  # errors come before the response begins
        return Stream("application/json", document(user, first, parts, self.turns))


async def document(
    user: UserId, first: Part, others: AsyncGenerator[Part, None], turns: Turns
) -> Chunks:
    """The JSON document of these parts, of which the first is the account's."""
    head = {
        "format": FORMAT,
        "userId": str(user),
        "exportedAt": datetime.now(UTC).isoformat(),
    }
    (account,) = first.entries
    yield orjson.dumps(head)[:-1] + b',\n"account":' + orjson.dumps(described(account))
    section, separator = "", b""
    async with aclosing(others):
        async for part in others:
            if part.section != section:
                yield (b"\n]" if section else b"") + b',\n"%s":[' % part.section.encode()
                section, separator = part.section, b"\n"
            for start in range(0, len(part.entries), SLICE):
                await turns.wait()
                lines = map(orjson.dumps, map(described, part.entries[start : start + SLICE]))
                yield separator + b",\n".join(lines)
                separator = b",\n"
    yield b"\n]}\n"


async def run(config: Config, user: UserId, file: Path | None) -> None:
    """Write the document to a new file, or to standard output.

    Raises:
        BadInput: the file exists.
        Unavailable: PostgreSQL cannot be reached.
    """
    async with open_stores(config.storage) as stores:
        parts = account_parts(Scope(stores, None, config.policy, is_service=True), user)
        chunks = document(user, await anext(parts), parts, Turns())
        async with aclosing(chunks):
            if file is None:
                await _write(chunks, sys.stdout.buffer)
                return
            with _created(file) as opened:
                await _write(chunks, opened)


@contextmanager
def _created(file: Path) -> Iterator[BinaryIO]:
    """A new file that only the user of this process can read. It is deleted if the `with` statement
    fails, so that it is whole or absent."""
    try:
        file.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        raise BadInput("FILE", f"{file} exists. Name a new file.") from None
    try:
        with file.open("wb") as opened:
            yield opened
    except BaseException:
        file.unlink(missing_ok=True)
        raise


async def _write(chunks: Chunks, file: BinaryIO) -> None:
    async for chunk in chunks:
        file.write(chunk)
    file.flush()


@singledispatch
def described(entry: object) -> Mapping[str, object]:
    """An entry as an object of the document."""
    raise TypeError(entry)


@described.register
def _(entry: AccountEntry) -> Mapping[str, object]:
    account = entry.account
    return {
        "state": entry.state.name,
        "stateChangedAt": _moment(entry.changed_at),
        "deletedAt": _moment(entry.deleted_at),
        "erasedAt": _moment(entry.erased_at),
        "protected": account.privacy.protected,
        "followingAudience": account.privacy.following.name,
        "followersAudience": account.privacy.followers.name,
        "followingLimit": account.following_limit,
        "rateLimitedUntil": _moment(entry.paced_until or None),
        "followersSeenUntil": date_text(entry.followers_seen) if entry.followers_seen else None,
    }


@described.register
def _(entry: OutgoingEntry) -> Mapping[str, object]:
    return {
        "userId": str(entry.other),
        **_own_edge(entry.edge),
        "changedAt": _moment(entry.edge.version),
        "mutedUntil": None if entry.muted_until is None else date_text(entry.muted_until),
        "message": entry.message,
    }


@described.register
def _(entry: IncomingEntry) -> Mapping[str, object]:
    return {
        "userId": str(entry.other),
        "kind": entry.kind.name,
        "since": date_text(entry.since),
        "message": entry.message,
    }


@described.register
def _(entry: NoteEntry) -> Mapping[str, object]:
    return {"userId": str(entry.other), "note": entry.note}


@described.register
def _(entry: PinEntry) -> Mapping[str, object]:
    return {"userId": str(entry.other), "followedAt": date_text(entry.since)}


@described.register
def _(entry: GroupEntry) -> Mapping[str, object]:
    return {"groupId": str(entry.id), "name": entry.name}


@described.register
def _(entry: MemberEntry) -> Mapping[str, object]:
    return {
        "userId": str(entry.other),
        "groups": [
            {"groupId": str(group), "followedAt": date_text(since)} for group, since in entry.groups
        ],
    }


@described.register
def _(entry: AffinityEntry) -> Mapping[str, object]:
    return {"userId": str(entry.other), "rank": entry.rank}


@described.register
def _(entry: ReceiptEntry) -> Mapping[str, object]:
    undo = entry.undo
    return {
        "id": str(UUID(int=entry.id)),
        "userId": None if entry.other is None else str(entry.other),
        "madeAt": _moment(entry.made_at),
        "outcome": entry.outcome.value,
        "recordedInteractions": entry.recorded,
        "undo": undo
        and {
            "isUsed": undo.version < 0,
            "outgoing": {**_own_edge(undo.edge), "message": undo.message},
            "incoming": {
                "kind": undo.reverse.kind.name,
                "since": date_text(undo.reverse.since) if undo.reverse.kind else None,
                "message": undo.other_message,
            },
        },
    }


def _own_edge(edge: Edge) -> dict[str, object]:
    flags = edge.flags
    return {
        "kind": edge.kind.name,
        "since": date_text(edge.since) if edge.kind else None,
        "closeFollow": Flags.CLOSE_FOLLOW in flags,
        "notify": Flags.NOTIFY in flags,
        "requestsWhisper": Flags.WHISPER_REQUEST in flags,
        "muted": Flags.MUTED in flags,
        "dismissed": Flags.DISMISSED in flags,
    }


def _moment(microseconds: int | None) -> str | None:
    return None if microseconds is None else date_text(Millis(microseconds // 1000))
