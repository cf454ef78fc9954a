"""The light rows that stand for the API's objects while a query runs. Knows no GraphQL.

A query may show thousands of users, relations and edges: a user is a bare id, the others are
tuples, and the fields that are asked for are computed from whole columns of them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from graph.edge import Millis, UserId
from graph.page import ListKind, ListOf, Page, Position, Window
from graph.relation import Relation

UserRow: TypeAlias = UserId


RelationRow: TypeAlias = tuple[UserId, UserId, int, Relation]
"""How the first user stands to the second, with the relation's `kinds` within reach."""

KINDS = 2
"""The place of a relation's kinds in its row."""


class ConnectionRow(NamedTuple):
    """A page of one of `owner`'s lists."""

    kind: ListKind
    owner: UserId
    window: Window
    page: Page


EntryRow: TypeAlias = tuple[Position, ListOf]
"""One entry of a list, and which list that is."""


_KINDS_OF = attrgetter("kinds")


def relation_rows(
    source: UserId, targets: Sequence[UserId], relations: Sequence[Relation]
) -> list[RelationRow]:
    """How `source` stands to each of `targets`."""
    return list(zip(repeat(source), targets, map(_KINDS_OF, relations), relations, strict=False))


def date(since: Millis) -> datetime:
    """A date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
