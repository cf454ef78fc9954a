"""Exports of whole lists, for services. Nothing is hidden from them except absent accounts."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial

from graph.edge import Kind, UserId
from graph.exported_list import Entry, ExportCursor, ExportedList, parts_after
from graph.page import Position
from resolvers.live import when_available
from resolvers.scope import Scope
from storage.ports.events import ChangeBatch

RANGE = 2_000
"""The number of edges that are read at once: 2 to 3 ms of PostgreSQL."""

CHANGES_AT_ONCE = 100
"""The number of changes of each lane group that are read at once."""

IDLE_S = 15.0
"""The longest silence of a stream of changes: proxies close silent connections."""


@dataclass(frozen=True, slots=True)
class ExportedEntries:
    """Some entries of one part of an export."""

    kind: Kind
    entries: Sequence[Entry]


async def exported_entries(
    scope: Scope,
    exported: ExportedList,
    user: UserId,
    after: ExportCursor | None,
    *,
    notified: bool = False,
) -> AsyncGenerator[ExportedEntries, None]:
    """A whole list, newest first within each kind of edge. With `notified`, the followers who asked
    to be notified.

    An edge that begins meanwhile may be missing: it is in the change feed after the feed's end at
    the time of the call.

    Raises:
        Forbidden: the request is not from a service for itself.
        Unavailable: PostgreSQL cannot be reached, also later.
    """
    scope.must_see_everything()
    absent = await scope.stores.reads.absences.now()
    for kind, start in parts_after(exported, after):
        read = partial(scope.stores.exports.lists.range, exported, user, kind, notified=notified)
        position: Position | None = start
        while position is not None:
            entries, position = await read(position, RANGE)
            if absent:
                entries = [entry for entry in entries if entry.id not in absent]
            if entries:
                yield ExportedEntries(kind, entries)


async def end_of_changes(scope: Scope) -> str:
    """The cursor of the change feed after its newest change.

    Raises:
        Forbidden: the request is not from a service for itself.
        Unavailable: Redis cannot be reached.
    """
    scope.must_see_everything()
    return await scope.stores.changes.change_feed.end()


async def changes(
    scope: Scope, after: str | None, *, waits_for_more: bool
) -> AsyncGenerator[ChangeBatch, None]:
    """All changes of the space after a cursor, or from now on. With `waits_for_more`, the stream
    does not end at the newest change.

    The first batch may be empty. With `waits_for_more`, an empty one follows after every
    `IDLE_S` without a change.

    Raises:
        Forbidden: the request is not from a service for itself.
        BadCursor: `after` is damaged, or belongs to another space.
        ChangesLost: changes are no longer kept, also later if the caller is too slow.
        Overloaded: this process has its maximum number of subscriptions.
        Unavailable: Redis cannot be reached at the start. Later this waits for it.
    """
    scope.must_see_everything()
    feed = scope.stores.changes.change_feed
    with scope.stores.changes.subscriptions.open_for_all() as subscription:
        await subscription.wait_for_change()
        batch = await feed.after(await feed.end() if after is None else after, CHANGES_AT_ONCE)
        yield batch
        while batch.more or waits_for_more:
            is_idle = not batch.more and not await subscription.wait_for_change(IDLE_S)
            batch = await when_available(partial(feed.after, batch.cursor, CHANGES_AT_ONCE))
            if batch.changes or batch.bulk_ends or is_idle:
                yield batch
