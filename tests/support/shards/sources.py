"""The sources of a statement: entries of FROM lists, and targets of changes."""

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from storage.postgres.citus.placement import DISTRIBUTED

Term: TypeAlias = tuple[object, ...]
"""("parameter", number), ("each", number) for an element of an array, ("constant", value),
("variable", name), or (source, column)."""

Outputs: TypeAlias = dict[str, "Term | None"]


class Feature(Enum):
    """A feature that Citus rejects or runs on all shards, unless bound to one user."""

    EMPTY_SELECT = "an empty select list"
    LOCK = "FOR UPDATE or FOR SHARE"
    LIMITED_LATERAL = "LATERAL with LIMIT over a function, CTE or reference table"
    OUTER_JOIN = "a distributed table on the optional side of an outer join"
    RECURSION = "a recursive CTE"
    VOLATILE = "a volatile function in a change"
    STABLE_OF_COLUMN = "a stable function of a column in a change"
    CHOSEN_CALL = "a function of the time in a CASE or COALESCE of a change"
    MUTABLE_CONFLICT = "a function of the time in ON CONFLICT DO UPDATE"
    MUTABLE_RETURNING = "a function of the time in RETURNING"
    SIMPLE_CASE = "CASE x WHEN in a change"
    MOVED_ROW = "a change of a distribution column"
    PLAIN_FUNCTION = "a call of a function for plain PostgreSQL"
    UNPLACED = "an INSERT without the distribution column"


FUNCTION = "function()"
"""The `table` of a source that is a function in FROM."""


@dataclass(eq=False, slots=True)
class Source:
    """An entry of a FROM list, or the target of a change."""

    alias: str
    table: str | None
    """None for a subquery or a CTE."""
    group: int
    """The number of the group, unless the group was joined to another: see `Reading.group_of`."""
    outputs: Outputs = field(default_factory=dict)
    arrays: set[int] = field(default_factory=set)
    """Numbers of the parameters in `COLUMN = ANY ($n)`."""
    is_recurring: bool = False
    """Whether every task of a statement has all its rows."""

    @property
    def column(self) -> str | None:
        """The distribution column; None if this is no distributed table."""
        return DISTRIBUTED.get(self.table or "")


@dataclass(eq=False, slots=True)
class Scope:
    """The names that are visible in one statement or subquery."""

    parent: "Scope | None"
    group: int
    is_limited: bool = False
    """Whether this is a LATERAL subquery with a LIMIT."""
    sources: list[Source] = field(default_factory=list)
    ctes: dict[str, Outputs] = field(default_factory=dict)


class Equalities:
    """Which terms are equal, transitively."""

    def __init__(self) -> None:
        self._same: dict[Term, Term] = {}

    def add(self, one: Term | None, other: Term | None) -> None:
        if one and other:
            roots = self._root(one), self._root(other)
            self._same.setdefault(roots[0], roots[0])
            self._same[roots[1]] = roots[0]

    def has(self, one: Term, other: Term) -> bool:
        return self._root(one) == self._root(other)

    def values(self, term: Term) -> set[Term]:
        """The parameters, variables and constants that equal `term`."""
        return {t for t in self._same if isinstance(t[0], str) and self.has(t, term)}

    def _root(self, term: Term) -> Term:
        while self._same.get(term, term) != term:
            term = self._same[term]
        return term
