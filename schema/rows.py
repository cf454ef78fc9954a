"""The light rows that stand for the API's objects while a query runs. Knows no GraphQL.

A query may show thousands of users, relations and edges: a user is a bare id, the others are
tuples, and the fields that are asked for are computed from whole columns of them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import NamedTuple, TypeAlias

from graph.edge import Millis, UserId
from graph.page import ListKind, Page, Window
from graph.relation import Relation

UserRow: TypeAlias = UserId


RelationRow: TypeAlias = tuple[UserId, UserId, int, Millis, Millis]
"""How the first user stands to the second: both ids, then what `graph.relation.Relation` holds."""

KINDS = 2
"""The place of a relation's kinds in its row."""


EntryRow: TypeAlias = tuple[Millis, UserId, int]
"""One entry of a list: since, id, and the seed that binds its cursor to that list."""


class ConnectionRow(NamedTuple):
    """A page of one of `owner`'s lists."""

    kind: ListKind
    owner: UserId
    window: Window
    page: Page


def relation_rows(
    source: UserId, targets: Sequence[UserId], relations: Sequence[Relation]
) -> list[RelationRow]:
    """How `source` stands to each of `targets`."""
    columns = zip(*relations, strict=True)
    return list(zip(repeat(source), targets, *columns, strict=False)) if targets else []


def date(since: Millis) -> datetime:
    """A date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
