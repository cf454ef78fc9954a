"""Suggestions: the viewer's followers, and users two follows away from the viewer. If there are
none, those whom many users follow.

They are computed for each request, once for all of its pages, from bounded parts of a bounded
number of lists. A cursor names the last user of a page, so the next page starts at that user's
present place. All lists are read as the viewer sees them, so neither a suggestion nor its reason
reveals an edge that the viewer may not see.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import time

from graph.affinity import DAY_MS, NEVER
from graph.edge import Millis, UserId
from graph.errors import BadCursor
from graph.lists import ListKind
from graph.page import Position, Window
from graph.suggestion import (
    Candidates,
    Suggestion,
    candidates,
    may_suggest,
    middles_of,
    peers_of,
    popular,
)
from resolvers.access import load_stored_totals
from resolvers.pages import pages_of
from resolvers.scope import RankedCandidates, Scope

FOLLOWINGS_MAX = 5_000
"""The viewer's newest follows that are considered: as many as are cached. The lists of users whom
the viewer followed earlier are not read."""
FOLLOWERS_MAX = 500
"""The newest followers are candidates: older ones are unlikely to be followed back."""
EXAMINED_MAX = 300
"""How many users followed by the viewer are examined: their numbers of follows are read. The
closest ones come first, then the newest. On some networks half of them follow nobody."""
MIDDLES_MAX = 75
"""How many examined users become middles, whose follows are read: the first ones who follow
anybody, as far as the viewer may see."""
MIDDLE_FOLLOWS_MAX = 200
"""The number of follows that are read of each middle, the newest: 15,000 entries in all, a few
milliseconds of work."""
SHARED_MAX = 20
"""How many of the viewer's newest follows have their followers read, if there are no middles."""
SHARING_MAX = 50
"""The number of followers that are read of each of these follows, the newest."""
PEERS_MAX = 50
"""How many of these followers have their follows read: those who follow most of the same users as
the viewer."""
ENDED_MAX = 1_000
"""Users to whom the viewer had an edge or a flag that has ended, the latest: they are not
suggested."""
ENDED_FOR_MS = 90 * DAY_MS
"""How long they are not suggested. The purge keeps their rows for as long."""
SUGGESTED_MAX = 1_000
"""Suggestions of a viewer, the best: a list in which nobody pages to the end."""
CHECKED_FIRST = 50
"""Candidates in the first relation check, besides those that a page shows: nearly always enough,
because nobody whom the viewer follows is among them. 200 take 6 % of a page's CPU time more."""
CHECKED_AT_ONCE = 200
"""Candidates in each further relation check."""


@dataclass(frozen=True, slots=True)
class SuggestionPage:
    """A page of the viewer's suggestions, best first. `more`: others come after it."""

    viewer: UserId
    entries: Sequence[Suggestion]
    more: bool
    window: Window
    """The requested window. Its positions name users and have no date."""


async def suggested(scope: Scope, window: Window) -> SuggestionPage:
    """Return the suggestions of a window, whose positions name users.

    Raises:
        Unauthenticated: the request has no viewer.
        BadCursor: a user that a position names is not among the candidates any more.
    """
    viewer = scope.must_have_viewer()
    ranked = await _ranked(scope)
    order = ranked.candidates.best_first
    start = _index_of("after", window.after.id, order) + 1 if window.has_after else 0
    end = _index_of("before", window.before.id, order) if window.has_before else len(order)
    inside = order[start:end]
    ordered = reversed(inside) if window.backward else iter(inside)
    if (end if window.backward else start + window.size + 1) > SUGGESTED_MAX:
        shown = frozenset(await _all_suggestions(scope))
        ordered = filter(shown.__contains__, ordered)
    found = await _allowed(scope, ranked, ordered, window.size + 1)
    entries = found[: window.size]
    if window.backward:
        entries.reverse()
    explained = ranked.candidates.explained(entries)
    return SuggestionPage(viewer, explained, len(found) > window.size, window)


async def suggestions_among(scope: Scope, users: Set[UserId]) -> Mapping[UserId, Suggestion]:
    """Return the viewer's present suggestions of these users, by user."""
    ranked = await _ranked(scope)
    asked = [user for user in ranked.candidates.best_first if user in users]
    found = await _allowed(scope, ranked, iter(asked), len(asked))
    return {suggestion.user: suggestion for suggestion in ranked.candidates.explained(found)}


async def suggestion_total(scope: Scope) -> int:
    """The number of suggestions, consistent with this request's pages."""
    return len(await _all_suggestions(scope))


def _all_suggestions(scope: Scope) -> Awaitable[Sequence[UserId]]:
    """All suggestions, at most `SUGGESTED_MAX`, best first. Computed once per request."""

    async def compute() -> Sequence[UserId]:
        ranked = await _ranked(scope)
        best_first = iter(ranked.candidates.best_first)
        return await _allowed(scope, ranked, best_first, SUGGESTED_MAX)

    return scope.all_suggestions.get(compute)


def _ranked(scope: Scope) -> Awaitable[RankedCandidates]:
    return scope.candidates.get(partial(_rank_candidates, scope, scope.must_have_viewer()))


async def _rank_candidates(scope: Scope, viewer: UserId) -> RankedCandidates:
    """Find and order the candidates; if all of them are left out, popular users instead."""
    now = Millis(int(time() * 1000))
    stores = scope.stores
    followings, followers, ranks, ended = await asyncio.gather(
        _own_entries(scope, viewer, ListKind.FOLLOWING, FOLLOWINGS_MAX),
        _own_entries(scope, viewer, ListKind.FOLLOWERS, FOLLOWERS_MAX),
        stores.own_data.affinities.closest(viewer),
        stores.reads.edge_notes.ended(viewer, Millis(now - ENDED_FOR_MS), ENDED_MAX),
    )
    newest = [user for _, user in followings]
    followed = frozenset(newest)
    middles = await _middles(scope, newest, ranks)
    circles = await _circles(scope, list(middles))
    strengths = {user: scope.affinity_scale.strength(rank, now) for user, rank in ranks.items()}
    peers = (
        [] if middles else await _circles_of_peers(scope, newest[:SHARED_MAX], followed | {viewer})
    )
    found = candidates(followers, followed, middles, circles, strengths, peers)
    left_out = followed | ended | {viewer}
    if left_out.issuperset(found.best_first):
        found = await _popular(scope, viewer)
    return RankedCandidates(found, left_out)


async def _own_entries(
    scope: Scope, viewer: UserId, kind: ListKind, limit: int
) -> Sequence[Position]:
    found = await pages_of(scope, kind, [viewer], Window(limit), is_shown=False)
    (page,) = found.pages
    return page.entries


async def _middles(
    scope: Scope, newest: Sequence[UserId], ranks: Mapping[UserId, float]
) -> Mapping[UserId, int]:
    """The users followed by the viewer whose follows are read, and how many users each follows."""
    examined = newest[:EXAMINED_MAX]
    if ranks:
        examined = sorted(newest, key=lambda user: ranks.get(user, NEVER), reverse=True)[
            :EXAMINED_MAX
        ]
    if not examined:
        return {}
    totals = await load_stored_totals(scope, ListKind.FOLLOWING, examined)
    return middles_of(newest, zip(examined, totals, strict=True), MIDDLES_MAX)


async def _circles(scope: Scope, owners: Sequence[UserId]) -> Mapping[UserId, Sequence[Position]]:
    """The newest follows of these users, as far as the viewer may see them."""
    if not owners:
        return {}
    newest = Window(MIDDLE_FOLLOWS_MAX)
    found = await pages_of(scope, ListKind.FOLLOWING, owners, newest, is_shown=False)
    return {owner: page.entries for owner, page in zip(owners, found.pages, strict=True)}


async def _circles_of_peers(
    scope: Scope, shared: Sequence[UserId], left_out: Set[UserId]
) -> Sequence[Sequence[Position]]:
    """The newest follows of followers of `shared`, as far as the viewer may see them."""
    if not shared:
        return []
    newest = Window(SHARING_MAX)
    found = await pages_of(scope, ListKind.FOLLOWERS, shared, newest, is_shown=False)
    peers = peers_of([page.entries for page in found.pages], left_out, PEERS_MAX)
    return list((await _circles(scope, peers)).values())


async def _popular(scope: Scope, viewer: UserId) -> Candidates:
    """Users whom several of a sample of users follow, if the viewer may see their lists."""
    sample = [user for user in await scope.stores.reads.sampled_users.now() if user != viewer]
    return popular((await _circles(scope, sample)).values())


def _index_of(argument: str, user: UserId, order: Sequence[UserId]) -> int:
    try:
        return order.index(user)
    except ValueError:
        raise BadCursor(
            argument, "is the cursor of a user who is no longer suggested. Start without a cursor."
        ) from None


async def _allowed(
    scope: Scope, ranked: RankedCandidates, users: Iterator[UserId], limit: int
) -> list[UserId]:
    """The first `limit` of `users` who are not in `ranked.left_out`, whose accounts are present and
    whom `may_suggest` allows."""
    left_out = ranked.left_out
    remaining = (user for user in users if user not in left_out)
    found: list[UserId] = []
    at_once = limit + CHECKED_FIRST
    while len(found) < limit and (batch := list(islice(remaining, at_once))):
        at_once = max(limit, CHECKED_AT_ONCE)
        viewer_relations, accounts = await asyncio.gather(
            scope.viewer_relations.get_many(batch), scope.accounts.get_many(batch)
        )
        found += [
            user
            for user, relation, account in zip(batch, viewer_relations, accounts, strict=True)
            if account.privacy.present and may_suggest(relation.kinds)
        ]
    return found[:limit]
