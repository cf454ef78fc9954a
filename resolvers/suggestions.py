"""Suggestions: the viewer's followers, and users two follows away from the viewer.

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

from graph.affinity import NEVER
from graph.edge import Millis, UserId
from graph.errors import BadCursor
from graph.page import ListKind, Position, Window
from graph.suggestion import Suggestion, may_suggest, suggestions
from resolvers.pages import pages_of
from resolvers.scope import Candidates, Scope

FOLLOWINGS_MAX = 5_000
"""As many follows as are cached. The lists of users followed earlier are not read."""
FOLLOWERS_MAX = 200
"""The newest followers are candidates: older ones are unlikely to be followed back."""
MIDDLES_MAX = 50
"""Users followed by the viewer whose follows are read: the closest ones, then the newest. Six times
the average number of follows, in one round trip."""
CIRCLE_MAX = 100
"""Follows that are read of each of these users, the newest: 5,000 entries in all, some milliseconds
of work."""
CHECKED_AT_ONCE = 200
"""Candidates in one relation check: enough for a page, unless the viewer has dismissed a hundred.
"""
COUNTED_AT_ONCE = 1_000
"""The same for the total, of at most 5,200 candidates."""


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
    candidates, followed = await _candidates(scope)
    start = _place("after", window.after.id, candidates) + 1 if window.has_after else 0
    end = _place("before", window.before.id, candidates) if window.has_before else None
    inside = candidates[start:end]
    ordered = reversed(inside) if window.backward else iter(inside)
    unfollowed = (candidate for candidate in ordered if candidate.user not in followed)
    found = await _allowed(scope, unfollowed, window.size + 1, CHECKED_AT_ONCE)
    entries = found[: window.size]
    if window.backward:
        entries.reverse()
    return SuggestionPage(viewer, entries, len(found) > window.size, window)


async def suggestions_among(scope: Scope, users: Set[UserId]) -> Mapping[UserId, Suggestion]:
    """Return the viewer's present suggestions of these users, by user."""
    candidates, followed = await _candidates(scope)
    asked = [c for c in candidates if c.user in users and c.user not in followed]
    found = await _allowed(scope, iter(asked), len(asked), CHECKED_AT_ONCE)
    return {suggestion.user: suggestion for suggestion in found}


async def suggestion_total(scope: Scope) -> int:
    """The number of suggestions, consistent with this request's pages."""

    async def total() -> int:
        everybody, _ = await _candidates(scope)
        return len(await _allowed(scope, iter(everybody), len(everybody), COUNTED_AT_ONCE))

    return await scope.suggestion_total.get(total)


def _candidates(scope: Scope) -> Awaitable[Candidates]:
    return scope.candidates.get(partial(_read_candidates, scope, scope.must_have_viewer()))


async def _read_candidates(scope: Scope, viewer: UserId) -> Candidates:
    followings, followers, ranks = await asyncio.gather(
        _own(scope, viewer, ListKind.FOLLOWING, FOLLOWINGS_MAX),
        _own(scope, viewer, ListKind.FOLLOWERS, FOLLOWERS_MAX),
        scope.stores.reads.affinities.closest(viewer),
    )
    circles = await _circles(scope, followings, ranks)
    now = Millis(int(time() * 1000))
    strengths = {user: scope.scale.strength(rank, now) for user, rank in ranks.items()}
    followed = {user for _, user in followings}
    return Candidates(suggestions(followers, circles, strengths), followed)


async def _own(scope: Scope, viewer: UserId, kind: ListKind, most: int) -> Sequence[Position]:
    (page,) = (await pages_of(scope, kind, [viewer], Window(most))).pages
    return page.entries


async def _circles(
    scope: Scope, followings: Sequence[Position], ranks: Mapping[UserId, float]
) -> Mapping[UserId, Sequence[Position]]:
    """The follows of the users whom the viewer follows, as far as the viewer may see them."""
    newest = [user for _, user in followings]
    middles = set(sorted(newest, key=lambda u: ranks.get(u, NEVER), reverse=True)[:MIDDLES_MAX])
    # Ordered by follow date, not by affinity: known followers must not reveal the hidden order.
    owners = [user for user in newest if user in middles]
    if not owners:
        return {}
    found = await pages_of(scope, ListKind.FOLLOWING, owners, Window(CIRCLE_MAX))
    return {owner: page.entries for owner, page in zip(owners, found.pages, strict=True)}


def _place(argument: str, user: UserId, candidates: Sequence[Suggestion]) -> int:
    for place, candidate in enumerate(candidates):
        if candidate.user == user:
            return place
    raise BadCursor(
        argument, "is the cursor of a user who is no longer suggested. Start without a cursor."
    )


async def _allowed(
    scope: Scope, candidates: Iterator[Suggestion], most: int, at_once: int
) -> list[Suggestion]:
    """The first `most` whose accounts are present and whom the rules allow to suggest."""
    found: list[Suggestion] = []
    while len(found) < most and (some := list(islice(candidates, at_once))):
        users = [candidate.user for candidate in some]
        viewer_relations, accounts = await asyncio.gather(
            scope.viewer_relations.get_many(users), scope.accounts.get_many(users)
        )
        found += [
            candidate
            for candidate, relation, account in zip(some, viewer_relations, accounts, strict=True)
            if account.privacy.present and may_suggest(relation.kinds)
        ]
    return found[:most]
