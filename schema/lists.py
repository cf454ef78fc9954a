"""From what a caller wrote to pages of lists, for all connections alike. Knows no GraphQL type.

A cursor is of one user's list: with several users, the others' fields say so as errors.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import repeat
from typing import cast

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
    return list(map(_list_of, zip(repeat(kind), owners, repeat(is_oldest_first(order)))))


_list_of: Callable[[tuple[ListKind | OwnListKind, UserId, bool]], ListOf] = partial(
    tuple.__new__, ListOf
)


async def _rows(
    info: Info, lists: Sequence[ListOf], paging: Paging, read: Read, chosen: Filter | None
) -> Rows:
    windows = _windows(info, lists, paging)
    good = [(of, w) for of, w in zip(lists, windows, strict=True) if type(w) is Window]
    opened = await read([of.owner for of, _ in good], good[0][1]) if good else ()
    return _in_place(windows, _rows_of([of for of, _ in good], paging, opened, chosen))


def _overlapping(
    info: Info,
    kind: ListKind,
    users: Parents[UserRow],
    overlaps: Sequence[Overlap],
    paging: Paging,
) -> Rows:
    lists = _lists(kind, users, None)
    windows = _windows(info, lists, paging)
    good = [
        (list_of, found.page(window)._replace(total=len(found.entries)))
        for list_of, found, window in zip(lists, overlaps, windows, strict=True)
        if isinstance(window, Window)
    ]
    opened = [page for _, page in good]
    return _in_place(windows, _rows_of([of for of, _ in good], paging, opened, None))


def _in_place(windows: Sequence[Window | BadCursor], rows: list[ConnectionRow]) -> Rows:
    """The rows of those lists that have a window, the others' errors between them."""
    if len(rows) == len(windows):
        return cast("Rows", rows)  # nearly always
    turns = iter(rows)
    return [next(turns) if isinstance(window, Window) else window for window in windows]


def _rows_of(
    lists: Sequence[ListOf], paging: Paging, opened: Sequence[Opened], chosen: Filter | None
) -> list[ConnectionRow]:
    """The connections of lists that are all read in one order."""
    if not lists:
        return []
    accesses, pages, totals = zip(*opened, strict=True)
    if lists[0].oldest_first:
        pages = tuple(Page(page.entries[::-1], page.more) for page in pages)
    bounds = paging.after is not None, paging.before is not None
    told = totals if chosen is None else repeat(chosen)
    from_start = repeat(paging.last is None)
    rows = zip(lists, pages, from_start, repeat(bounds), accesses, told)
    return list(map(_connection_row, rows))


_connection_row: Callable[[tuple[object, ...]], ConnectionRow] = partial(
    tuple.__new__, ConnectionRow
)


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
