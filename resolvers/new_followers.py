"""The viewer's new followers: counting them, and marking followers as seen."""

from graph.edge import Millis, UserId
from graph.lists import ListKind
from graph.new_followers import NEVER_SEEN
from graph.page import Window
from graph.receipt import Receipt
from resolvers.access import load_totals, shows_whispers
from resolvers.audit import audited
from resolvers.idempotency import request_of, run_idempotently
from resolvers.overlap import FollowerCriteria, filtered_followers
from resolvers.pages import pages_of
from resolvers.result import Result
from resolvers.scope import Scope
from resolvers.shown_pages import Listed

MARK_FOLLOWERS_SEEN = "markFollowersSeen"

COUNTED_MAX = 1_000
"""New followers are counted up to this number, because counting reads the entries."""


async def seen_by(scope: Scope, user: UserId) -> Millis:
    """The moment up to which a user has seen their followers. Takes one statement."""
    return (await scope.stores.own_data.seen_followers.get_many([user]))[user]


async def count_new_followers(scope: Scope, viewer: UserId) -> int:
    """How many followers the viewer has not seen, of those that the viewer's list shows. At most
    `COUNTED_MAX`.

    Agrees with the viewer's followers, if the response shows them all, and does not exceed the
    count of followers. They may be read while followers arrive.
    """
    seen = await seen_by(scope, viewer)
    unseen = FollowerCriteria(since=Millis(seen + 1))
    whole = Window(COUNTED_MAX)
    found = await filtered_followers(scope, [viewer], whole, unseen, is_shown=False)
    (total,) = await load_totals(scope, ListKind.FOLLOWERS, [viewer])
    listed = _shown_followers(scope, viewer)
    if listed is not None and listed.is_whole:
        new = sum(since > seen for since in listed.dates.values())
    else:
        new = min(len(found.pages[0].entries), total or 0)
    return min(new, COUNTED_MAX)


def _shown_followers(scope: Scope, viewer: UserId) -> Listed | None:
    """The viewer's followers as the response shows them. None: it does not."""
    shown = scope.shown_pages
    if shown is None or viewer not in shown.owners():
        return None
    whispers = shows_whispers(scope, ListKind.FOLLOWERS, viewer)
    return shown.listed(ListKind.FOLLOWERS, viewer, shows_whispers=whispers)


async def mark_followers_seen(
    scope: Scope, until: Millis | None, idempotency_key: str | None = None
) -> Result:
    """Mark the viewer's followers up to a moment as seen. None: all whom the list shows now.

    Followers are never unmarked. With a key that was used before, it returns the first outcome.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: a part cannot be reached. The followers may or may not be marked; repeating the
            request is safe.
    """
    viewer = scope.must_have_viewer()
    made = _mark(scope, viewer, until, idempotency_key)
    if scope.is_service:
        return await audited(scope, MARK_FOLLOWERS_SEEN, viewer, made)
    return await made


async def _mark(
    scope: Scope, viewer: UserId, until: Millis | None, idempotency_key: str | None
) -> Result:
    request = request_of(viewer, idempotency_key, MARK_FOLLOWERS_SEEN, until)
    scope.reread_fresh()  # the local cache may lack what another gateway has shown
    # A follow that is on its way to the list has an earlier date than now. It must stay new, so
    # nothing is marked beyond the newest entry.
    newest = await _newest_follow(scope, viewer)
    moment = newest if until is None else min(until, newest)
    seen, pace = scope.stores.own_data.seen_followers, scope.policy.pace
    saved = await run_idempotently(scope, request, lambda: seen.mark(viewer, moment, request, pace))
    retry_at = None if isinstance(saved, Receipt) else saved.retry_at
    return Result(saved.outcome, retry_at=retry_at)


async def _newest_follow(scope: Scope, viewer: UserId) -> Millis:
    """The date of the newest entry that the viewer's followers show; NEVER_SEEN: there is none."""
    kind, newest = ListKind.FOLLOWERS, Window(1)
    (page,) = (await pages_of(scope, kind, [viewer], newest, is_shown=False)).pages
    return page.entries[0][0] if page.entries else NEVER_SEEN  # an entry may be a plain tuple
