"""Freshness: how fresh a response is, and how fresh a request requires it to be."""

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from graph.consistency import ACCOUNTS_CACHED_S, Moment, by_lane_group, moment_of_accounts
from graph.edge import Millis
from graph.errors import Unavailable
from graph.lane import lane_of
from graph.lists import LISTS, ListOf, ranked_list
from graph.visibility import Access
from resolvers.scope import Scope, WatermarkReading
from storage.ports.reader import Consistency

_STALE_IN_CACHE_US = (ACCOUNTS_CACHED_S + 15) * 1_000_000
"""How long caches can lack a change of an account: their time to live, and some seconds, because a
reader that began before the change may fill a cache after it."""


REACH_COST = 750
"""The cost of tokens in a request, in the unit of `schema.weights`: of reading how far the lanes
are, and of reads that skip the local cache."""


class Freshness(NamedTuple):
    """The time up to which all acknowledged changes are in a page, and its age."""

    as_of: Millis
    lag_ms: int
    is_degraded: bool
    """Whether the page was read without the caches, or may have been, because this process has
    failed to reach one since it read the watermarks."""


async def reach(scope: Scope, moments: Sequence[Moment]) -> None:
    """Ensure that all later reads of this request include all these moments. Charges the caller,
    because the static cost does not contain it.

    Raises:
        Stale: the lanes did not reach the moments in time.
        Unavailable: PostgreSQL cannot be reached.
    """
    scope.debit(REACH_COST)
    wait_s = scope.policy.freshness_wait_ms / 1000
    required = by_lane_group(moments)
    reached = not required or await scope.stores.changes.catch_up.reach(required, wait_s)
    uncached = max((moment.at for moment in moments if moment.may_be_stale_in_cache), default=None)
    if uncached is not None:
        now = (await scope.stores.changes.progress.watermarks()).now
        reached = reached and now - uncached > _STALE_IN_CACHE_US
    scope.absences_as_of_us = max(
        (moment.at for moment in moments if not moment.lane_groups), default=None
    )
    # A cache that could not be updated may be reachable again soon, with outdated entries.
    scope.read_from(Consistency.FRESH if reached else Consistency.ROWS)


async def accounts_now(scope: Scope, *, may_be_stale_in_cache: bool) -> Moment | None:
    """The moment of account changes made until now. None if PostgreSQL is unavailable.

    `may_be_stale_in_cache`: whether caches may lack the last one.
    """
    with contextlib.suppress(Unavailable):
        now = (await scope.stores.changes.progress.watermarks()).now
        return moment_of_accounts(now, may_be_stale_in_cache=may_be_stale_in_cache)
    return None


async def read_watermarks(scope: Scope) -> None:
    """Read the lanes' watermarks, so that `freshness_of` can tell the age of pages that are read
    afterwards.

    Does nothing if PostgreSQL is unavailable: the rest of the response does not need it.
    """
    failures = scope.stores.reads.reader.failures
    with contextlib.suppress(Unavailable):
        scope.watermark_reading = WatermarkReading(
            await scope.stores.changes.progress.watermarks(), failures
        )
        scope.reread_fresh()  # the local cache may be older than the watermarks


def freshness_of(
    scope: Scope, lists: Sequence[ListOf], accesses: Sequence[Access]
) -> list[Freshness]:
    """The freshness of each list's page in this request. An empty page of a list that the viewer
    cannot open does not lag: a lag would show that something has changed in secret.

    Raises:
        Unavailable: `read_watermarks` could not read the watermarks before the pages.
    """
    reading = scope.watermark_reading
    if reading is None:
        raise Unavailable("PostgreSQL", "The freshness could not be determined. Try again later.")
    is_degraded = (
        scope.consistency is Consistency.ROWS
        or scope.stores.reads.reader.failures > reading.redis_failures
    )
    return [
        _freshness(reading, list_of, access, is_degraded)
        for list_of, access in zip(lists, accesses, strict=True)
    ]


def _freshness(
    reading: WatermarkReading, list_of: ListOf, access: Access, is_degraded: bool
) -> Freshness:
    oldest, now = reading.watermarks.oldest, reading.watermarks.now
    lags = access is Access.VISIBLE and LISTS[ranked_list(list_of.kind)].lags
    since = oldest[lane_of(list_of.owner)] if lags else None
    as_of = now if since is None else min(since, now)
    return Freshness(Millis(as_of // 1000), -(-(now - as_of) // 1000), is_degraded)
