"""Reads which users, of those with active accounts, a user follows: groups and pins need this."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graph.edge import Millis, UserId
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection


@dataclass(frozen=True, slots=True)
class _Statements:
    find_follows: str


_SQL = sql.load(_Statements, "present_follows")


async def present_follows(
    connection: Connection, user: UserId, others: Sequence[UserId]
) -> Mapping[UserId, Millis]:
    """Since when `user` follows those of `others` whose accounts are active."""
    return dict(map(tuple, await connection.fetch(_SQL.find_follows, user, list(others))))
