"""Whom the viewer might want to follow: their followers, and whom those follow whom they follow.

Knows nothing of the order: that is `graph.suggestion`. Computed anew for every page, from bounded
parts of a bounded number of lists; a cursor names the last user of the page before, so a page goes
on where that user stands now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import time

from graph.affinity import NEVER
from graph.edge import Millis, UserId
from graph.errors import BadCursor
from graph.page import ListKind, Position, Window
from graph.suggestion import Suggestion, may_suggest, suggestions
from resolvers import relations
from resolvers.pages import pages_of
from resolvers.scope import Scope
from resolvers.visible import visible
from storage.ports import Check

FOLLOWERS_MAX = 200
"""The newest followers who are considered: who was not followed back for long, will not be."""
MIDDLES_MAX = 50
"""Of those whom the viewer follows, the closest, then the newest: six times what people follow on
average, and one round trip for all."""
CIRCLE_MAX = 100
"""The newest follows of each of those: 5,000 entries in all, some milliseconds of work."""
CHECKED_AT_ONCE = 200
"""Candidates a relation check: enough for a page, unless somebody has dismissed a hundred."""


@dataclass(frozen=True, slots=True)
class SuggestionPage:
    """A page of the viewer's suggestions, best first. `more` come after it."""

    viewer: UserId
    entries: Sequence[Suggestion]
    more: bool
    first: bool


async def suggested(scope: Scope, size: int, after: UserId | None = None) -> SuggestionPage:
    """At most `size` users who come after the user `after`.

    Raises:
        Unauthenticated: nobody asks.
        BadCursor: `after` is none of the candidates any more.
    """
    viewer = scope.must_have_viewer()
    window = Window(scope.limits.following_max)
    (followings,) = await pages_of(scope, ListKind.FOLLOWING, [viewer], window)
    ranks = await scope.stores.affinity.closest(viewer)
    candidates = await _candidates(scope, viewer, followings.entries, ranks)
    known = {viewer, *(user for _, user in followings.entries)}
    rest = candidates if after is None else _after(after, candidates)
    fresh = [candidate for candidate in rest if candidate.user not in known]
    found = await _allowed(scope, viewer, fresh, size + 1)
    return SuggestionPage(viewer, found[:size], len(found) > size, first=after is None)


async def _candidates(
    scope: Scope,
    viewer: UserId,
    followings: Sequence[Position],
    ranks: Mapping[UserId, float],
) -> list[Suggestion]:
    (followers,) = await pages_of(scope, ListKind.FOLLOWERS, [viewer], Window(FOLLOWERS_MAX))
    newest = [user for _, user in followings]
    middles = set(sorted(newest, key=lambda u: ranks.get(u, NEVER), reverse=True)[:MIDDLES_MAX])
    # In the order of the follows, not of closeness: so known followers are told in no hidden order.
    owners = [user for user in newest if user in middles]
    owners = await visible(scope, ListKind.FOLLOWING, owners)
    pages = await pages_of(scope, ListKind.FOLLOWING, owners, Window(CIRCLE_MAX)) if owners else []
    circles = {owner: page.entries for owner, page in zip(owners, pages, strict=True)}
    now = Millis(int(time() * 1000))
    strengths = {user: scope.scale.strength(rank, now) for user, rank in ranks.items()}
    return suggestions(followers.entries, circles, strengths)


def _after(user: UserId, candidates: Sequence[Suggestion]) -> Sequence[Suggestion]:
    for place, candidate in enumerate(candidates, 1):
        if candidate.user == user:
            return candidates[place:]
    raise BadCursor("after", "this suggestion is none any more; begin again without a cursor.")


async def _allowed(
    scope: Scope, viewer: UserId, candidates: Sequence[Suggestion], most: int
) -> list[Suggestion]:
    """The first `most` with whom the viewer has nothing to do yet."""
    found: list[Suggestion] = []
    while candidates and len(found) < most:
        some, candidates = candidates[:CHECKED_AT_ONCE], candidates[CHECKED_AT_ONCE:]
        check = Check(viewer, [candidate.user for candidate in some])
        (standing,) = await relations.between(scope, [check])
        found += [
            candidate
            for candidate, relation in zip(some, standing, strict=True)
            if may_suggest(relation.kinds)
        ]
    return found[:most]
