"""From what a caller wrote to pages of lists, for all connections alike. Knows no GraphQL type.

A cursor is of one user's list: with several users, the others' fields say so as errors.
"""

from collections.abc import Awaitable, Callable, Sequence

from engine import Outcome, Parents
from graph.edge import UserId
from graph.errors import BadCursor, BadInput
from graph.page import ListKind, ListOf, OwnListKind, Page, Ranking, Window
from graph.visibility import Access
from resolvers import closest_friends as closest
from resolvers import overlap
from resolvers.overlap import Filter, Overlap
from resolvers.pages import Opened, own_pages_of, pages_of
from schema import arguments
from schema.arguments import Paging
from schema.context import Info, scope_of
from schema.order import FriendOrder, ListOrder, is_oldest_first
from schema.rows import ConnectionRow, UserRow

Rows = list[Outcome[ConnectionRow]]
Read = Callable[[Sequence[UserId], Window], Awaitable[Sequence[Opened]]]
"""Reads one window of several owners' lists."""


async def pages(
    info: Info,
    kind: ListKind,
    users: Parents[UserRow],
    paging: Paging,
    order: ListOrder | FriendOrder | None,
) -> Rows:
    """A page of every user's list."""
    scope = scope_of(info)

    def read(owners: Sequence[UserId], window: Window) -> Awaitable[Sequence[Opened]]:
        return pages_of(scope, kind, owners, window)

    return await _rows(info, _lists(kind, users, order), paging, read, None)


async def filtered(
    info: Info,
    users: Parents[UserRow],
    paging: Paging,
    order: ListOrder | None,
    chosen: Filter,
) -> Rows:
    """A page of those of every user's followers who are chosen."""
    scope = scope_of(info)

    def read(owners: Sequence[UserId], window: Window) -> Awaitable[Sequence[Opened]]:
        return overlap.filtered_followers(scope, owners, window, chosen)

    lists = _lists(ListKind.FOLLOWERS, users, order)
    return await _rows(info, lists, paging, read, chosen)


async def own_pages(
    info: Info,
    kind: OwnListKind,
    viewers: Parents[UserRow],
    paging: Paging,
    order: ListOrder | None = None,
) -> Rows:
    """A page of a list that is the viewer's alone."""
    scope = scope_of(info)

    def read(owners: Sequence[UserId], window: Window) -> Awaitable[Sequence[Opened]]:
        return own_pages_of(scope, kind, owners, window)

    return await _rows(info, _lists(kind, viewers, order), paging, read, None)


async def known_followers(info: Info, users: Parents[UserRow], paging: Paging) -> Rows:
    """A page of whom the viewer follows among each user's followers."""
    found = await overlap.known_followers(scope_of(info), list(users))
    return _overlapping(info, ListKind.FOLLOWERS, users, found, paging)


async def common_following(
    info: Info, users: Parents[UserRow], other: UserId, paging: Paging
) -> Rows:
    """A page of whom each user and another one follow."""
    found = await overlap.common_following(scope_of(info), list(users), other)
    return _overlapping(info, ListKind.FOLLOWING, users, found, paging)


async def closest_friends(
    info: Info, users: Parents[UserRow], paging: Paging, order: FriendOrder
) -> Rows:
    """A page of the viewer's friends in the order of closeness, which nobody else's are put in."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    refusal = BadInput("orderBy", "AFFINITY orders your own friends only.")
    if viewer not in users:
        return [refusal] * len(users)

    async def read(owners: Sequence[UserId], window: Window) -> Sequence[Opened]:
        page = await closest.closest_friends(scope, window)
        return [Opened(Access.VISIBLE, page)] * len(owners)

    list_of = ListOf(Ranking.FRIENDS, viewer, is_oldest_first(order))
    (row,) = await _rows(info, [list_of], paging, read, None)
    return [row if user == viewer else refusal for user in users]


def _lists(
    kind: ListKind | OwnListKind,
    owners: Parents[UserRow],
    order: ListOrder | FriendOrder | None,
) -> list[ListOf]:
    oldest_first = is_oldest_first(order)
    return [ListOf(kind, owner, oldest_first) for owner in owners]


async def _rows(
    info: Info, lists: Sequence[ListOf], paging: Paging, read: Read, chosen: Filter | None
) -> Rows:
    windows = _windows(info, lists, paging)
    good = [(of, w) for of, w in zip(lists, windows, strict=True) if isinstance(w, Window)]
    opened = iter(await read([of.owner for of, _ in good], good[0][1]) if good else ())
    return [
        _row(list_of, paging, next(opened), chosen) if isinstance(window, Window) else window
        for list_of, window in zip(lists, windows, strict=True)
    ]


def _overlapping(
    info: Info,
    kind: ListKind,
    users: Parents[UserRow],
    overlaps: Sequence[Overlap],
    paging: Paging,
) -> Rows:
    lists = [ListOf(kind, user) for user in users]
    return [
        _row(list_of, paging, found.page(window), len(found.entries))
        if isinstance(window, Window)
        else window
        for list_of, found, window in zip(
            lists, overlaps, _windows(info, lists, paging), strict=True
        )
    ]


def _row(
    list_of: ListOf, paging: Paging, opened: Opened, total: int | Filter | None
) -> ConnectionRow:
    access, page, known = opened
    if list_of.oldest_first:
        page = Page(page.entries[::-1], page.more)
    bounds = paging.after is not None, paging.before is not None
    total = known if total is None else total
    return ConnectionRow(list_of, page, paging.last is None, bounds, access, total)


def _windows(info: Info, lists: Sequence[ListOf], paging: Paging) -> Sequence[Window | BadCursor]:
    limits = scope_of(info).limits
    if paging.after is None and paging.before is None:
        return [arguments.window(lists[0], limits, paging)] * len(lists)

    def window(list_of: ListOf) -> Window | BadCursor:
        try:
            return arguments.window(list_of, limits, paging)
        except BadCursor as error:
            return error

    return list(map(window, lists))
