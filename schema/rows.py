"""The light rows that stand for the API's objects while a query runs. Knows no type of the API.

A query may show thousands of users, relations and edges: a user is a bare id, the others are
tuples, and the fields that are asked for are computed from whole columns of them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from engine import Zipped
from graph.edge import Millis, Pair, UserId
from graph.page import ListOf, Page, Position
from graph.relation import Relation, RelationColumn
from graph.visibility import Access
from resolvers.overlap import Filter

UserRow: TypeAlias = UserId


RelationRow: TypeAlias = tuple[UserId, UserId, int, Relation]
"""How the first user stands to the second, with the relation's `kinds` within reach."""

SOURCE, TARGET, KINDS, RELATION = range(4)
"""The places of a relation's row."""


class ConnectionRow(NamedTuple):
    """A page of a list, its entries in the order that was asked for."""

    list_of: ListOf
    page: Page
    from_start: bool
    """Whether the page was taken from the end that the order begins with: `first`, not `last`."""
    bounds: tuple[str | None, str | None]
    """The cursors that were given as `after` and as `before`."""
    access: Access = Access.VISIBLE
    total: int | Filter | None = None
    """How many entries there are, or what tells it; None: as many as the whole list has."""


class ViewerRow(NamedTuple):
    """The user who makes the request."""

    user: UserId


class RequestRow(NamedTuple):
    """Somebody asked to follow somebody."""

    source: UserId
    target: UserId
    since: Millis


EntryRow: TypeAlias = tuple[Position, ListOf]
"""One entry of a list, and which list that is."""

POSITION, LIST = range(2)
"""The places of an entry's row."""


def relation_rows(
    source: UserId, targets: Sequence[UserId], relations: RelationColumn
) -> Zipped[RelationRow]:
    """How `source` stands to each of `targets`. No row is made where only kinds are asked for."""
    return Zipped([source] * len(targets), targets, relations.kinds, relations)


def relation_row(pair: Pair, relation: Relation) -> RelationRow:
    """The row of one relation."""
    return pair.source, pair.target, relation.kinds, relation


def date(since: Millis) -> datetime:
    """A date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
