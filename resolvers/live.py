"""What a subscriber hears, and when: their own events, live relations, live counts.

Each of these is woken by news of one user, and then reads for itself: between two events nothing
is kept but a position or the last answer, and while nothing happens nothing is done.
Knows nothing of transports.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TypeAlias, TypeVar

from graph.edge import Millis, Pair, UserId
from graph.errors import Unavailable
from graph.event import Event, EventType, told
from graph.page import ListKind
from graph.relation import Relation, mutes
from resolvers import relations
from resolvers.access import askers, totals
from resolvers.scope import Scope
from storage.ports import Check
from storage.redis.events import Batch, checked_cursor

T = TypeVar("T")

Seen: TypeAlias = tuple[Relation, Millis | None]
"""How the viewer stands to somebody, and when their mute ends, which the relation does not tell."""

BATCH = 100
RETRY_S = 1.0
"""How long a subscriber leaves a part alone that is down, give or take a half."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What the viewer hears, and the position to resume from; no event where some were lost."""

    cursor: str
    type: EventType | None = None
    event: Event | None = None


async def relationship_events(
    scope: Scope, types: Collection[EventType] | None, after: str | None
) -> AsyncGenerator[Heard, None]:
    """The viewer's own events, from now or from `after` on; of `types`, or of all.

    Raises:
        Unauthenticated: nobody asks.
        BadCursor: `after` is none.
        Overloaded: this process serves as many subscriptions as it may.
        Unavailable: Redis is, at the start. Later on it is waited for.
    """
    viewer = scope.must_have_viewer()
    position = None if after is None else checked_cursor("after", after)
    with scope.stores.interests.of(viewer) as interest:
        if position is None:
            position = await scope.stores.events.open(viewer)
        while True:
            await interest.news()
            batch = None
            while batch is None or batch.more:
                read = partial(scope.stores.events.after, viewer, position, BATCH)
                batch = await _when_available(read)
                for heard in _heard(scope, viewer, batch, types):
                    yield heard
                position = batch.cursor


def _heard(
    scope: Scope, viewer: UserId, batch: Batch, types: Collection[EventType] | None
) -> list[Heard]:
    if batch.lost:
        return [Heard(batch.cursor)]
    heard = [
        Heard(
            one.cursor,
            told(one.event, viewer, whispers=not scope.limits.whispers_hidden),
            one.event,
        )
        for one in batch.told
    ]
    return [one for one in heard if one.type and (types is None or one.type in types)]


async def relation_changed(
    scope: Scope, others: Sequence[UserId]
) -> AsyncGenerator[list[tuple[UserId, Relation]], None]:
    """How the viewer stands to each of `others`: first to all, then to those for whom it changed.

    Raises as `relationship_events` does.
    """
    viewer = scope.must_have_viewer()
    scope.since = scope.since or 0  # who is woken because somebody has gone is not woken again
    others = list(dict.fromkeys(others))
    shown: dict[UserId, Seen] = {}
    with scope.stores.interests.of(viewer) as interest:
        while True:
            await interest.news()
            now = await _when_available(partial(_relations_seen, scope, viewer, others))
            changed = {other: seen for other, seen in now.items() if shown.get(other) != seen}
            shown |= changed
            if changed:
                yield [(other, relation) for other, (relation, _) in changed.items()]


async def _relations_seen(
    scope: Scope, viewer: UserId, others: Sequence[UserId]
) -> dict[UserId, Seen]:
    (found,) = await relations.between(scope, [Check(viewer, others)])
    muted = [
        Pair(viewer, other)
        for other, kinds in zip(others, found.kinds, strict=True)
        if mutes(kinds)
    ]
    notes = await scope.stores.remarks.of(muted) if muted else {}
    ends = {pair.target: note.muted_until for pair, note in notes.items()}
    return {other: (seen, ends.get(other)) for other, seen in zip(others, found, strict=True)}


async def counts_changed(scope: Scope, user: UserId) -> AsyncGenerator[UserId, None]:
    """`user`, at first and whenever the counts are others, as far as the viewer sees them.

    At most once in `scope.limits.counts_every_s`, however fast they change; the last is never left
    out. Raises as `relationship_events` does, but nobody has to be signed in.
    """
    scope.since = scope.since or 0
    shown: Sequence[int | None] | None = None
    # What the viewer may see depends on what they are to the user, and on their own blocks.
    with scope.stores.interests.of(user, *askers(scope)) as interest:
        while True:
            await interest.news()
            now = await _when_available(partial(_counts_seen, scope, user))
            if now != shown:
                shown = now
                yield user
                await asyncio.sleep(scope.limits.counts_every_s)


async def _counts_seen(scope: Scope, user: UserId) -> Sequence[int | None]:
    scope.forget()
    kinds = map(partial(totals, scope), ListKind, repeat([user]))
    return [count for (count,) in await asyncio.gather(*kinds)]


async def _when_available(read: Callable[[], Awaitable[T]]) -> T:
    """What `read` returns, once the parts that it needs are there."""
    while True:
        try:
            return await read()
        except Unavailable:
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
