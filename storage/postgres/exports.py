"""Reads long lists in ranges, from the forward and reverse rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import cast

from graph.edge import Kind, Millis, UserId
from graph.exported_list import Entry, ExportedList
from graph.page import Position
from storage.ports.exports import ExportedRange
from storage.postgres import sql
from storage.postgres.connection.pool import Postgres


@dataclass(frozen=True, slots=True)
class _Statements:
    following: str
    followers: str
    notified_followers: str
    friends: str


_SQL = sql.load(_Statements, "exports")

_STATEMENT_OF_LIST = {
    ExportedList.FOLLOWING: _SQL.following,
    ExportedList.FOLLOWERS: _SQL.followers,
    ExportedList.FRIENDS: _SQL.friends,
    ExportedList.BLOCKS: _SQL.following,
}
_Pairs = Iterator[tuple[Millis, UserId]]
_Triples = Iterator[tuple[Millis, UserId, Millis]]
_decode_pairs = cast("Callable[[bytes], _Pairs]", Struct(">qq").iter_unpack)
_decode_triples = cast("Callable[[bytes], _Triples]", Struct(">qqq").iter_unpack)


class PostgresExports:
    """Implements `storage.ports.exports.Exports` with one statement per range."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def range(
        self,
        exported: ExportedList,
        user: UserId,
        kind: Kind,
        after: Position,
        size: int,
        *,
        notified: bool = False,
    ) -> ExportedRange:
        statement = _SQL.notified_followers if notified else _STATEMENT_OF_LIST[exported]
        ((packed,),) = await self._postgres.fetch(statement, user, kind, *after, size)
        if exported is ExportedList.FRIENDS:
            return _friend_range(list(_decode_triples(packed or b"")), size)
        entries = [Entry(since, other, since) for since, other in _decode_pairs(packed or b"")]
        return ExportedRange(entries, _next_position(entries, size))


def _friend_range(follows: Sequence[tuple[Millis, UserId, Millis]], size: int) -> ExportedRange:
    """The friends among `follows`. Each has the follow's date, the other user and the date of the
    reverse follow, or -1 if there is none."""
    entries = [
        Entry(since, other, max(since, reverse_since))
        for since, other, reverse_since in follows
        if reverse_since >= 0
    ]
    return ExportedRange(entries, _next_position(follows, size))


def _next_position(rows: Sequence[tuple[Millis, UserId, Millis]], size: int) -> Position | None:
    """The position of the last row, after which the next range begins; None at the list's end."""
    if len(rows) < size:
        return None
    since, other, _ = rows[-1]
    return Position(since, other)
