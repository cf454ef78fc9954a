"""The light rows that stand for the API's objects while a query runs. Knows no GraphQL.

A query may show thousands of users, relations and edges: a user is a bare id, the others are
tuples, and the fields that are asked for are computed from whole columns of them.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import repeat
from typing import NamedTuple, TypeAlias

from graph.edge import Millis, UserId
from graph.page import ListOf, Page, Position
from graph.relation import Relation, RelationColumn
from graph.visibility import Access
from resolvers.overlap import Filter

UserRow: TypeAlias = UserId


class Side:
    """The user from whose side relations are told; and these, for what their kinds do not say."""

    def __init__(
        self, source: UserId, targets: Sequence[UserId], relations: Sequence[Relation]
    ) -> None:
        self.source = source
        self._targets = targets
        self._relations = relations

    @cached_property
    def to(self) -> Mapping[UserId, Relation]:
        """How the user stands to each of the targets."""
        return dict(zip(self._targets, self._relations, strict=True))


RelationRow: TypeAlias = tuple[UserId, int, Side]
"""To whom a relation is, its `kinds`, and from whose side it is told. No relation: of thousands,
nearly always the kinds alone are asked for."""

KINDS = 1
"""The place of a relation's kinds in its row."""


class ConnectionRow(NamedTuple):
    """A page of a list, its entries in the order that was asked for."""

    list_of: ListOf
    page: Page
    from_start: bool
    """Whether the page was taken from the end that the order begins with: `first`, not `last`."""
    bounds: tuple[bool, bool]
    """Whether an `after`, and whether a `before` was given."""
    access: Access = Access.VISIBLE
    total: int | Filter | None = None
    """How many entries there are, or what tells it; None: as many as the whole list has."""


class RequestRow(NamedTuple):
    """Somebody asked to follow somebody."""

    source: UserId
    target: UserId
    since: Millis


EntryRow: TypeAlias = tuple[Position, ListOf]
"""One entry of a list, and which list that is."""


def relation_rows(
    source: UserId, targets: Sequence[UserId], relations: RelationColumn
) -> list[RelationRow]:
    """How `source` stands to each of `targets`."""
    side = Side(source, targets, relations)
    return list(zip(targets, relations.kinds, repeat(side), strict=False))


def date(since: Millis) -> datetime:
    """A date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
