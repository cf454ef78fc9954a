"""The light rows that stand for the API's objects while a query runs. Knows no GraphQL.

A query may show thousands of users, relations and edges: a user is a bare id, the others are
tuples, and the fields that are asked for are computed from whole columns of them.
"""

from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from graph.edge import Millis, UserId
from graph.page import ListKind, Page, Window
from graph.relation import Relation

UserRow: TypeAlias = UserId


class RelationRow(NamedTuple):
    """How `source` stands to `target`."""

    source: UserId
    target: UserId
    both: Relation


EntryRow: TypeAlias = tuple[Millis, UserId, int]
"""One entry of a list: since, id, and the seed that binds its cursor to that list."""


class ConnectionRow(NamedTuple):
    """A page of one of `owner`'s lists."""

    kind: ListKind
    owner: UserId
    window: Window
    page: Page


def date(since: Millis) -> datetime:
    """A date of the API."""
    return datetime.fromtimestamp(since / 1000, UTC)
