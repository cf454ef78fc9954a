"""The rows that represent the objects of the API while a query runs.

A query can return thousands of users, relations and edges. A user is an id, other objects are
tuples, and fields are computed from whole columns of rows.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from engine import ColumnarRows
from graph.edge import Millis, Pair, UserId
from graph.lists import ListOf
from graph.page import Page, Position
from graph.relation import Relation, RelationColumn
from graph.visibility import Access
from resolvers.follow_groups import GroupFilter
from resolvers.overlap import FollowerCriteria

UserRow: TypeAlias = UserId


RelationRow: TypeAlias = tuple[UserId, UserId, int, Relation]
"""The relation of the first user to the second. The third item is `kinds` of the fourth."""

SOURCE, TARGET, KINDS, RELATION = range(4)
"""The indexes of a relation's row."""


class ConnectionRow(NamedTuple):
    """A page of a list, with its entries in the requested order."""

    list_of: ListOf
    page: Page
    from_start: bool
    """Whether the page was requested with `first`, not with `last`."""
    bounds: tuple[str | None, str | None]
    """The arguments `after` and `before`."""
    access: Access = Access.VISIBLE
    total: int | FollowerCriteria | GroupFilter | None = None
    """The number of entries, or the filter to count them by; None: the total of the whole list."""
    is_part: bool = False
    """Whether the list is a part of `list_of`: it is filtered, or an overlap with another list."""


class ViewerRow(NamedTuple):
    """The user who makes the request."""

    user: UserId


class RequestRow(NamedTuple):
    """A request of `source` to follow `target`."""

    source: UserId
    target: UserId
    since: Millis


EntryRow: TypeAlias = tuple[Position, ListOf]
"""One entry of a list, and its list."""

POSITION, LIST = range(2)
"""The indexes of an entry's row."""


def relation_rows(
    source: UserId, targets: Sequence[UserId], relations: RelationColumn
) -> ColumnarRows[RelationRow]:
    """Return the relations of `source` to each of `targets`. Reading the column of kinds builds no
    rows."""
    return ColumnarRows([source] * len(targets), targets, relations.kinds, relations)


def relation_row(pair: Pair, relation: Relation) -> RelationRow:
    """Return the row of one relation."""
    return pair.source, pair.target, relation.kinds, relation


def date(since: Millis) -> datetime:
    """Return a stored date, in milliseconds since 1970, as a date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
