"""Reads the pages of lists for all connections.

A cursor belongs to one user's list. If a query uses it for several users, the fields of the other
users fail.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import TypeAlias

from engine import ItemOrError, Parents
from graph.edge import UserId
from graph.errors import BadCursor, BadInput
from graph.lists import (
    AnyList,
    ListKind,
    ListOf,
    OwnListKind,
    Ranking,
)
from graph.page import Page, Window
from graph.visibility import Access
from resolvers import closest_friends as closest
from resolvers import follow_groups, overlap
from resolvers.follow_groups import GroupFilter
from resolvers.overlap import FollowerCriteria
from resolvers.pages import VisiblePages, pages_of
from resolvers.policy import Policy
from schema.arguments import Paging, window, without_traceback
from schema.context import Info, scope_of
from schema.order import FriendOrder, ListOrder, is_oldest_first
from schema.rows import ConnectionRow, UserRow, ViewerRow

Rows: TypeAlias = Sequence[ItemOrError[ConnectionRow]]
ReadPages: TypeAlias = Callable[[Sequence[UserId], Window], Awaitable[VisiblePages]]
"""Reads one window of several owners' lists."""


def pages(
    info: Info,
    kind: ListKind,
    users: Parents[UserRow],
    paging: Paging,
    order: ListOrder | FriendOrder | None,
) -> Awaitable[Rows]:
    """Return a page of each user's list."""
    scope = scope_of(info)
    lists = _lists(kind, users, order)
    return _connection_rows(scope.policy, lists, paging, partial(pages_of, scope, kind))


def filtered(
    info: Info,
    users: Parents[UserRow],
    paging: Paging,
    order: ListOrder | None,
    criteria: FollowerCriteria,
) -> Awaitable[Rows]:
    """Return a page of each user's followers that match the filter."""
    scope = scope_of(info)
    lists = _lists(ListKind.FOLLOWERS, users, order)
    read = partial(overlap.filtered_followers, scope, criteria=criteria)
    return _connection_rows(scope.policy, lists, paging, read, criteria, is_part=True)


def own_pages(
    info: Info,
    kind: OwnListKind,
    viewers: Parents[ViewerRow],
    paging: Paging,
    order: ListOrder | None,
) -> Awaitable[Rows]:
    """Return a page of a list that only the viewer can open."""
    scope = scope_of(info)
    lists = _lists(kind, [user for (user,) in viewers], order)
    return _connection_rows(scope.policy, lists, paging, partial(pages_of, scope, kind))


def known_followers(
    info: Info, users: Parents[UserRow], paging: Paging, order: ListOrder | None
) -> Awaitable[Rows]:
    """Return a page of each user's followers whom the viewer follows."""
    scope = scope_of(info)

    async def read(owners: Sequence[UserId], window: Window) -> VisiblePages:
        return await overlap.pages_of_overlaps(await overlap.known_followers(scope, owners), window)

    lists = _lists(ListKind.FOLLOWERS, users, order)
    return _connection_rows(scope.policy, lists, paging, read, is_part=True)


def common_following(
    info: Info, users: Parents[UserRow], other: UserId, paging: Paging, order: ListOrder | None
) -> Awaitable[Rows]:
    """Return a page of the users whom both each user and `other` follow."""
    scope = scope_of(info)

    async def read(owners: Sequence[UserId], window: Window) -> VisiblePages:
        return await overlap.pages_of_overlaps(
            await overlap.common_following(scope, owners, other), window
        )

    lists = _lists(ListKind.FOLLOWING, users, order)
    return _connection_rows(scope.policy, lists, paging, read, is_part=True)


def closest_friends(
    info: Info, users: Parents[UserRow], paging: Paging, order: FriendOrder
) -> Awaitable[Rows]:
    """Return a page of the viewer's friends by affinity: closest first, or last if `order` is
    ascending. Other users in `users` get an error. Raises Unauthenticated without a viewer."""
    scope = scope_of(info)
    not_own_list = BadInput(
        "orderBy", "can be AFFINITY only for the viewer's own friends. Use DATE."
    )

    async def read(_: Sequence[UserId], window: Window) -> VisiblePages:
        return VisiblePages(
            [Access.VISIBLE], [await closest.closest_friends(scope, window)], [None]
        )

    list_of = ListOf(Ranking.FRIENDS, scope.must_have_viewer(), is_oldest_first(order))
    return _viewers_list(scope.policy, users, list_of, paging, read, not_own_list)


def group_pages(
    info: Info,
    users: Parents[UserRow],
    paging: Paging,
    order: ListOrder | None,
    list_filter: GroupFilter,
) -> Awaitable[Rows]:
    """Return a page of the members of a group of the viewer's. Other users in `users` get an error.
    Raises Unauthenticated without a viewer."""
    scope = scope_of(info)
    not_own_list = BadInput("filter.groupId", "can be used only for the viewer's own list.")

    async def read(_: Sequence[UserId], window: Window) -> VisiblePages:
        return await follow_groups.members(scope, window, list_filter)

    (list_of,) = _lists(ListKind.FOLLOWING, [scope.must_have_viewer()], order)
    return _viewers_list(scope.policy, users, list_of, paging, read, not_own_list, list_filter)


async def _viewers_list(
    policy: Policy,
    users: Parents[UserRow],
    list_of: ListOf,
    paging: Paging,
    read: ReadPages,
    not_own_list: BadInput,
    list_filter: GroupFilter | None = None,
) -> Rows:
    """Return a page of `list_of`, whose owner is the viewer. Other users get the error
    `not_own_list`."""
    viewer = list_of.owner
    if viewer not in users:
        return [not_own_list] * len(users)
    is_part = list_filter is not None
    (row,) = await _connection_rows(policy, [list_of], paging, read, list_filter, is_part=is_part)
    return [row if user == viewer else not_own_list for user in users]


def _lists(
    kind: AnyList, owners: Parents[UserRow], order: ListOrder | FriendOrder | None
) -> list[ListOf]:
    oldest_first = order is not None and is_oldest_first(order)
    return list(map(_list_of, zip(repeat(kind), owners, repeat(oldest_first))))


_list_of: Callable[[tuple[AnyList, UserId, bool]], ListOf] = partial(tuple.__new__, ListOf)


async def _connection_rows(
    policy: Policy,
    lists: Sequence[ListOf],
    paging: Paging,
    read: ReadPages,
    list_filter: FollowerCriteria | GroupFilter | None = None,
    *,
    is_part: bool = False,
) -> Rows:
    """One connection, or an error, for each list.

    A cursor fits one list only, so with a cursor the other lists get BadCursor.
    """
    if len(lists) == 1 or (paging.after is None and paging.before is None):  # nearly always
        try:
            shared_window = window(lists[0], policy, paging)
        except BadCursor as error:
            return [error]  # there is one list
        visible = await read(list(map(_OWNER, lists)), shared_window)
        return _rows_of_pages(lists, paging, visible, list_filter, is_part)
    windows = [_window_or_error(list_of, policy, paging) for list_of in lists]
    valid = [
        (list_of, window_or_error)
        for list_of, window_or_error in zip(lists, windows, strict=True)
        if isinstance(window_or_error, Window)
    ]
    rows: Iterator[ConnectionRow] = iter(())
    if valid:
        lists = [list_of for list_of, _ in valid]
        (_, shared_window), *_ = valid  # the cursor matches one list only
        visible = await read(list(map(_OWNER, lists)), shared_window)
        rows = iter(_rows_of_pages(lists, paging, visible, list_filter, is_part))
    return [
        next(rows) if isinstance(window_or_error, Window) else window_or_error
        for window_or_error in windows
    ]


def _window_or_error(list_of: ListOf, policy: Policy, paging: Paging) -> Window | BadCursor:
    try:
        return window(list_of, policy, paging)
    except BadCursor as error:
        return without_traceback(error)


_OWNER = attrgetter("owner")


def _rows_of_pages(
    lists: Sequence[ListOf],
    paging: Paging,
    visible: VisiblePages,
    list_filter: FollowerCriteria | GroupFilter | None,
    is_part: bool,
) -> list[ConnectionRow]:
    """Return the connections of lists, which all have the same order, with their entries in that
    order. `visible` has them from new to old."""
    accesses, pages, totals = visible
    if lists[0].oldest_first:
        pages = [Page(page.entries[::-1], page.more) for page in pages]
    _, after, last, before = paging
    totals_or_filters: Iterable[object] = totals
    if list_filter is not None:
        totals_or_filters = repeat(list_filter)
        if after is before is None:  # a page of the whole list has the total
            totals_or_filters = [
                list_filter if page.more or access is not Access.VISIBLE else len(page.entries)
                for page, access in zip(pages, accesses, strict=True)
            ]
    from_start, bounds = repeat(last is None), repeat((after, before))
    rows = zip(lists, pages, from_start, bounds, accesses, totals_or_filters, repeat(is_part))
    return list(map(_connection_row, rows))


_connection_row: Callable[[tuple[object, ...]], ConnectionRow] = partial(
    tuple.__new__, ConnectionRow
)
