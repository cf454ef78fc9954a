"""Reads of relations, lists, profiles and accounts, through the caches."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Generic, NamedTuple, Protocol, TypeVar, overload

from graph.account import Account
from graph.edge import UserId
from graph.lists import ListKind
from graph.page import Page, Window
from graph.profile import Profile
from graph.relation import RelationColumn


class Check(NamedTuple):
    """A question: the relation of `user` to each of `others`. The answers have the order of
    `others`, who may repeat."""

    user: UserId
    others: Sequence[UserId]
    preformatted: Sequence[str] | None = None
    """`str` of each of `others`, if the caller has these texts already: then a cache need not
    format them."""


class Consistency(IntEnum):
    """Where a read may be answered, the least consistent first. Every level shows the viewer's own
    writes."""

    CACHED = auto()
    """From all caches, including the local one of this process, which may miss other users' newest
    writes."""
    FRESH = auto()
    """From Redis, or from the tables for what Redis does not hold."""
    ROWS = auto()
    """From the tables only."""


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Answer = TypeVar("Answer", covariant=True)


class ReadRequest(Generic[Answer]):
    """A request to a `Reader`. `Answer`: the type of its answer.

    Requests are not frozen, because creating a frozen one takes 2 µs instead of 0.6.
    """

    __slots__ = ()


@dataclass(slots=True, eq=False)
class RelationsOf(ReadRequest[list[RelationColumn]]):
    """Relation checks: one column for each check, with one relation for each of its `others`.

    Forward edges are exact; reverse edges lag until their lane is drained.
    """

    checks: Sequence[Check]


@dataclass(slots=True, eq=False)
class PagesOf(ReadRequest[Mapping[UserId, Page]]):
    """A page of each owner's list; an empty page for a user without entries."""

    kind: ListKind
    owners: Sequence[UserId]
    window: Window


@dataclass(slots=True, eq=False)
class ProfilesOf(ReadRequest[Mapping[UserId, Profile]]):
    """The profile of each user; totals are zero for a user without edges. Accounts are exact."""

    users: Sequence[UserId]


@dataclass(slots=True, eq=False)
class AccountsOf(ReadRequest[Mapping[UserId, Account]]):
    """The account of each user; the default for a user without a row. Exact."""

    users: Sequence[UserId]


class Reader(Protocol):
    """Reads relations, lists and profiles, through the caches."""

    @property
    def failures(self) -> int:
        """Number of reads and writes that found the caches unavailable."""
        ...

    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[A]: ...
    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        second: ReadRequest[B],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[tuple[A, B]]: ...
    @overload
    def read(
        self,
        viewer: UserId | None,
        request: ReadRequest[A],
        second: ReadRequest[B],
        third: ReadRequest[C],
        /,
        *,
        consistency: Consistency = Consistency.CACHED,
    ) -> Awaitable[tuple[A, B, C]]:
        """The answers to one to three requests, in one round trip if they are cached."""
        ...
