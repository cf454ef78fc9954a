"""How fresh an answer is, and how fresh it has to be. Knows nothing of where that is asked for."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from graph.consistency import Moment, by_lane, moment_of_accounts
from graph.edge import Millis
from graph.errors import Unavailable
from graph.lane import lane_of
from graph.page import ListKind, ListOf, OwnListKind
from resolvers.scope import Arrival, Scope
from storage.postgres.pool import PART

LAGGING = frozenset(
    {
        ListKind.FOLLOWERS,
        ListKind.FRIENDS,
        OwnListKind.FOLLOWERS,
        OwnListKind.INCOMING_REQUESTS,
    }
)
"""Lists of what others have done: it arrives by their owner's lane. All others are exact."""


class Freshness(NamedTuple):
    """Up to when everything that was acknowledged is in a page, and how long ago that was."""

    as_of: Millis
    lag_ms: int
    is_degraded: bool
    """Whether the caches had no part in it."""


async def reach(scope: Scope, moments: Sequence[Moment]) -> None:
    """Whatever this request reads from now on is at least as fresh as all these moments.

    Raises:
        Stale: the graph is not, and did not become so in time.
        Unavailable: PostgreSQL is.
    """
    wait_s = scope.limits.freshness_wait_ms / 1000
    wanted = by_lane(moments)
    told = not wanted or await scope.stores.catch_up.reach(wanted, wait_s)
    scope.since = max((moment.at for moment in moments if not moment.lanes), default=None)
    # A cache that could not be told may be back in a moment, with what was there before.
    scope.read_from(scope.stores.fresh if told else scope.stores.rows)


async def accounts_now(scope: Scope) -> Moment | None:
    """Of what has just been said of accounts; None where the database's clock cannot be asked."""
    with contextlib.suppress(Unavailable):
        return moment_of_accounts((await scope.stores.outbox.arrived()).now)
    return None


async def note_arrival(scope: Scope) -> None:
    """Looks how far the graph has come, for `freshness_of` what is read after this.

    Nothing is noted where PostgreSQL cannot be asked: the rest of the answer may do without.
    """
    failures = scope.stores.redis.failures
    with contextlib.suppress(Unavailable):
        scope.arrival = Arrival(await scope.stores.outbox.arrived(), failures)
        scope.read_from(scope.stores.fresh)  # memory may be older than what was looked at


def freshness_of(scope: Scope, lists: Sequence[ListOf]) -> list[Freshness]:
    """How fresh the pages of these lists are that this request has read.

    Raises:
        Unavailable: nothing was noted before they were.
    """
    arrival = scope.arrival
    if arrival is None:
        raise Unavailable(PART, "The freshness could not be determined. Try again later.")
    is_degraded = (
        scope.stores is scope.stores.rows or scope.stores.redis.failures > arrival.redis_failures
    )
    return [_freshness(arrival, list_of, is_degraded) for list_of in lists]


def _freshness(arrival: Arrival, list_of: ListOf, is_degraded: bool) -> Freshness:
    oldest, now = arrival.arrived.oldest, arrival.arrived.now
    since = oldest[lane_of(list_of.owner)] if list_of.kind in LAGGING else None
    as_of = now if since is None else min(since, now)
    return Freshness(Millis(as_of // 1000), -(-(now - as_of) // 1000), is_degraded)
