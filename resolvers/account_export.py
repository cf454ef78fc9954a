"""The export of everything that is stored about one user, for services and operators.

It shows the edges between the user and others by the same rules as the user's own lists: not who
blocks or mutes them, no whisper that is hidden from them, and no follow of an absent account.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

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
from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Pair, UserId, Version
from graph.exported_list import ExportedList
from graph.page import NEWEST, Position
from graph.relation import Relation, relation_of
from resolvers.scope import NOBODY, Scope
from resolvers.visibility import own_relation

Entry = (
    AccountEntry
    | OutgoingEntry
    | IncomingEntry
    | NoteEntry
    | PinEntry
    | GroupEntry
    | MemberEntry
    | AffinityEntry
    | ReceiptEntry
)


class Part(NamedTuple):
    """Some entries of one section. Parts of a section follow each other."""

    section: str
    entries: Sequence[Entry]


class _HasOther(Protocol):
    @property
    def other(self) -> UserId: ...


E = TypeVar("E", bound=_HasOther)

RANGE = 500
"""The entries that are read at once. Making and filtering them takes 2 to 4 ms, for which the event
loop does nothing else."""


async def account_parts(scope: Scope, user: UserId) -> AsyncGenerator[Part, None]:
    """All that is stored about the user, in sections: `account`, `outgoing`, `incoming`, `notes`,
    `pins`, `groups`, `groupMembers`, `affinities`, `receipts`. Each section has at least one part,
    which may be empty.

    Raises:
        Forbidden: the request is not from a service for itself.
        Unavailable: PostgreSQL cannot be reached, also later.
    """
    scope.must_see_everything()
    stored = scope.stores.exports.accounts
    subject = Scope(scope.stores, user, scope.policy)
    absent = await subject.absent()
    yield Part("account", [await stored.account(user)])
    async for edges in _ranges(stored.outgoing, user):
        seen = [_visible_outgoing(subject, entry, entry.other in absent) for entry in edges]
        yield Part("outgoing", [entry for entry in seen if entry is not None])
    yield Part("incoming", [])
    for kind in _incoming_kinds(subject):
        async for part in _incoming(subject, kind):
            yield Part("incoming", [entry for entry in part if entry.other not in absent])
    async for notes in _ranges(stored.notes, user):
        yield Part("notes", notes)
    pins = await stored.pins(user)
    yield Part("pins", [entry for entry in pins if entry.other not in absent])
    yield Part("groups", await stored.groups(user))
    async for members in _ranges(stored.group_members, user):
        yield Part("groupMembers", [entry for entry in members if entry.other not in absent])
    async for affinities in _ranges(stored.affinities, user):
        yield Part("affinities", affinities)
    after = 0
    found: Sequence[ReceiptEntry] = ()
    while after == 0 or len(found) == RANGE:
        found = await stored.receipts(user, after, RANGE)
        yield Part(
            "receipts", [_visible_receipt(subject, entry, entry.other in absent) for entry in found]
        )
        after = found[-1].id if found else 1


async def _ranges(
    read: Callable[[UserId, UserId, int], Awaitable[Sequence[E]]], user: UserId
) -> AsyncGenerator[Sequence[E], None]:
    """All entries of a section that is ordered by the other users' ids, in ranges."""
    found = await read(user, UserId(0), RANGE)
    yield found
    while len(found) == RANGE:
        found = await read(user, found[-1].other, RANGE)
        yield found


async def _incoming(subject: Scope, kind: Kind) -> AsyncGenerator[Sequence[IncomingEntry], None]:
    """All edges of one kind to the subject, newest first, in ranges."""
    stores, user = subject.stores, subject.must_have_viewer()
    position: Position | None = NEWEST
    while position is not None:
        found, position = await stores.exports.lists.range(
            ExportedList.FOLLOWERS, user, kind, position, RANGE
        )
        messages: Mapping[UserId, str | None] = {}
        if kind is Kind.REQUEST and found:
            notes = await stores.reads.edge_notes.get_many(
                [Pair(entry.id, user) for entry in found]
            )
            messages = {pair.source: note.message for pair, note in notes.items()}
        yield [
            IncomingEntry(entry.id, kind, entry.since, messages.get(entry.id)) for entry in found
        ]


def _incoming_kinds(subject: Scope) -> list[Kind]:
    """The kinds of edges to the subject that the subject may see."""
    return [
        kind
        for kind in Kind
        if kind
        and _visible_relation(subject, NO_EDGE, _edge_of_kind(kind), is_absent=False).reverse_kind
        is kind
    ]


def _edge_of_kind(kind: Kind) -> Edge:
    return Edge(kind, Flags.PLAIN, Millis(1), Version(1))


def _visible_relation(subject: Scope, edge: Edge, reverse: Edge, *, is_absent: bool) -> Relation:
    """The relation of the subject to another user, as far as the subject may see it."""
    other = UserId(0)
    absent = {other} if is_absent else NOBODY
    return own_relation(subject, absent, other, relation_of(edge, reverse))


def _visible_outgoing(
    subject: Scope, entry: OutgoingEntry, is_absent: bool
) -> OutgoingEntry | None:
    """The entry as the subject may see it, or None if it is hidden."""
    edge = entry.edge
    seen = _visible_relation(subject, edge, NO_EDGE, is_absent=is_absent)
    if seen.kind is edge.kind and seen.flags == edge.flags:
        return entry
    if not seen.kinds:
        return None
    shown = Edge(seen.kind, seen.flags, seen.since, edge.version)
    return OutgoingEntry(entry.other, shown, None, entry.muted_until)


def _visible_receipt(subject: Scope, entry: ReceiptEntry, is_absent: bool) -> ReceiptEntry:
    """The receipt; its undo record is without what the subject may not see."""
    undo = entry.undo
    if undo is None:
        return entry
    seen = _visible_relation(subject, undo.edge, undo.reverse, is_absent=is_absent)
    shown = replace(
        undo,
        edge=Edge(seen.kind, seen.flags, seen.since, Version(0)),
        reverse=Edge(seen.reverse_kind, Flags.PLAIN, seen.reverse_since, Version(0)),
        other_message=undo.other_message if seen.reverse_kind is Kind.REQUEST else None,
    )
    return replace(entry, undo=shown)
