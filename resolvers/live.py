"""Subscriptions: the viewer's own events, live relations and live counts.

A subscription waits for notifications about a few users and then reads the stores itself. Between
two notifications it holds only a position or the last result, and does no work.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from time import monotonic
from typing import TypeAlias, TypeVar

from graph.cursor import checked_feed_cursor
from graph.edge import Millis, Pair, UserId
from graph.errors import Unavailable
from graph.event import Event, EventType, event_type_for, shown_user
from graph.lists import ListKind
from graph.relation import Relation, has_block, mutes
from resolvers import relations
from resolvers.access import load_totals
from resolvers.new_followers import count_new_followers
from resolvers.scope import Scope
from storage.ports.events import FeedBatch, Woken
from storage.ports.reader import Check, RelationsOf

T = TypeVar("T")

Seen: TypeAlias = tuple[Relation, Millis | None]
"""The viewer's relation to a user, and when their mute ends: the relation does not hold that."""

BATCH = 100
"""The maximum number of entries of a feed that are read at once."""
READ_COST = 150
"""The cost of a read that finds no change, in the unit of `schema.weights`, if the viewer's own
change caused it. A charge for a change by others would reveal that they made one. Reads that find a
change are charged as events."""
NEW_FOLLOWERS_COST = 1_000
"""The additional cost of counting the viewer's new followers, which reads up to 1,000 entries."""

READS_WHILE_KEPT = 3
"""How often an idle subscriber reads their feed during `kept_s`, so that Redis keeps the feed."""
RETRY_S = 1.0
"""Seconds before a failed read is tried again, 50 % more or less."""


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """One event and the cursor to resume after it. Without an event: some events were lost."""

    cursor: str
    type: EventType | None = None
    event: Event | None = None
    shown_user: UserId | None = None
    """The user with whom the event shows a follow or a request, if it does."""


async def relationship_events(
    scope: Scope, types: Collection[EventType] | None, after: str | None
) -> AsyncGenerator[LiveEvent, None]:
    """The viewer's own events from now or after the cursor `after`; of `types`, or all.

    Raises:
        Unauthenticated: the request has no viewer.
        BadCursor: `after` is not a cursor.
        Overloaded: this process has its maximum number of subscriptions.
        Unavailable: Redis cannot be reached at the start. Later the subscription waits for it.
    """
    viewer = scope.must_have_viewer()
    scope.require_notified_absences()
    position = None if after is None else checked_feed_cursor("after", after)
    feeds, subscriptions = scope.stores.changes.feeds, scope.stores.changes.subscriptions
    with subscriptions.open(viewer=viewer) as subscription:
        is_catching_up = position is not None
        if position is None:
            position = await feeds.open(viewer)
        while True:
            await subscription.wait_for_change(feeds.kept_s / READS_WHILE_KEPT)
            batch = None
            while batch is None or batch.more:
                read = partial(feeds.after, viewer, position, BATCH)
                batch = await when_available(read)
                # An event may be read long after it happened.
                absent = await when_available(scope.absent)
                events = _live_events(scope, viewer, batch, types, absent)
                is_catching_up = is_catching_up or batch.more
                if is_catching_up:
                    # Not for others: they are read moments after they happened, and a look-up would
                    # double their cost.
                    without_blocks = partial(_without_blocks, scope, viewer, events)
                    events = await when_available(without_blocks)
                for event in events:
                    yield event
                position = batch.cursor
                is_catching_up = batch.more


def _live_events(
    scope: Scope,
    viewer: UserId,
    batch: FeedBatch,
    types: Collection[EventType] | None,
    absent: Set[UserId],
) -> list[LiveEvent]:
    """The events of a batch that the viewer may see. If the batch has lost events, one LiveEvent
    without an event instead."""
    if batch.lost:
        return [LiveEvent(batch.cursor)]
    whispers = not scope.policy.whispers_hidden
    events: list[LiveEvent] = []
    for entry in batch.events:
        seen = event_type_for(entry.event, viewer, whispers=whispers)
        if seen is None or (types is not None and seen not in types):
            continue
        shown = shown_user(entry.event, seen, viewer)
        if shown not in absent:
            events.append(LiveEvent(entry.cursor, seen, entry.event, shown))
    return events


async def _without_blocks(
    scope: Scope, viewer: UserId, events: Sequence[LiveEvent]
) -> list[LiveEvent]:
    """The events without the follows and requests of users with a block between them and the
    viewer, so that a blocker looks like an absent user, and not even the viewer's own block shows
    another's."""
    shown = {event.shown_user for event in events if event.shown_user is not None}
    if not shown:
        return list(events)
    users = list(shown)
    (found,) = await scope.stores.reads.reader.read(
        viewer, RelationsOf([Check(viewer, users)]), consistency=scope.consistency
    )
    blocked = {user for user, kinds in zip(users, found.kinds, strict=True) if has_block(kinds)}
    return [event for event in events if event.shown_user not in blocked]


async def relation_changed(
    scope: Scope, others: Sequence[UserId]
) -> AsyncGenerator[list[tuple[UserId, Relation]], None]:
    """The viewer's relation to each of `others`: first all, then those that changed, or whose mute
    has another end.

    Raises as `relationship_events` does.
    """
    viewer = scope.must_have_viewer()
    scope.require_notified_absences()
    others = list(dict.fromkeys(others))
    shown: dict[UserId, Seen] = {}
    subscriptions = scope.stores.changes.subscriptions
    read = partial(_relations_seen, scope, viewer, others)
    with subscriptions.open(viewer=viewer) as subscription:
        while True:
            woken = await subscription.wait_for_change()
            now = await when_available(partial(_in_turn, scope, read))
            changed = {other: seen for other, seen in now.items() if shown.get(other) != seen}
            shown |= changed
            if changed:
                yield [(other, relation) for other, (relation, _) in changed.items()]
            elif woken is Woken.BY_OWN:
                scope.debit(READ_COST + len(others))


async def _relations_seen(
    scope: Scope, viewer: UserId, others: Sequence[UserId]
) -> dict[UserId, Seen]:
    """The viewer's present relation to each user, and the end of their mute."""
    (found,) = await relations.visible_between(scope, [Check(viewer, others)])
    muted = [
        Pair(viewer, other)
        for other, kinds in zip(others, found.kinds, strict=True)
        if mutes(kinds)
    ]
    notes = await scope.stores.reads.edge_notes.get_many(muted) if muted else {}
    mute_ends = {pair.target: note.muted_until for pair, note in notes.items()}
    return {other: (seen, mute_ends.get(other)) for other, seen in zip(others, found, strict=True)}


async def counts_changed(scope: Scope, user: UserId) -> AsyncGenerator[UserId, None]:
    """Yield `user` at first and whenever the counts that the viewer can see have changed.

    After the first read, it reads only when a multiple of `scope.policy.counts_every_s` has passed
    since then, however many changes there were. So the time of a message and of a charge depends on
    no change that the viewer may not see. Raises as `relationship_events` does, but does not
    require a viewer.
    """
    scope.require_notified_absences()
    every_s = scope.policy.counts_every_s
    # Opened as the viewer too, whose access depends on their own relation to the user.
    subscriptions = scope.stores.changes.subscriptions
    read = partial(_visible_counts, scope, user)
    with subscriptions.open(
        user, viewer=scope.viewer, sees_everything=scope.sees_everything
    ) as subscription:
        began_at = monotonic()
        await subscription.wait_for_change()  # it starts woken
        shown = await when_available(partial(_in_turn, scope, read))
        yield user
        while True:
            woken = await subscription.wait_for_change()
            await subscriptions.pause(every_s - (monotonic() - began_at) % every_s)
            woken = max(woken, await subscription.wait_for_change(0))
            now = await when_available(partial(_in_turn, scope, read))
            if now != shown:
                shown = now
                yield user
            elif woken is Woken.BY_OWN:
                scope.debit(READ_COST + NEW_FOLLOWERS_COST * (user == scope.viewer))


async def _visible_counts(scope: Scope, user: UserId) -> Sequence[int | None]:
    """The present counts that the viewer can see; of the viewer's own, also new followers."""
    scope.reread_fresh()
    kinds = map(partial(load_totals, scope), ListKind, repeat([user]))
    counts = [count for (count,) in await asyncio.gather(*kinds)]
    if user == scope.viewer:
        # It can change while the number of followers does not.
        counts.append(await count_new_followers(scope, user))
    return counts


async def _in_turn(scope: Scope, read: Callable[[], Awaitable[T]]) -> T:
    """The result of `read`, while few other subscriptions read."""
    async with scope.stores.changes.subscriptions.reading(
        scope.caller, is_anonymous=scope.viewer is None and not scope.is_service
    ):
        return await read()


async def when_available(read: Callable[[], Awaitable[T]]) -> T:
    """The result of `read`, repeated until the parts that it needs are available."""
    while True:
        try:
            return await read()
        except Unavailable:
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
