"""Groups users by their shards on Citus, for statements that can only run in one shard."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from graph.edge import UserId
from storage.postgres import sql
from storage.postgres.connection.acquired import Connection
from storage.postgres.connection.pool import Postgres

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Statements:
    shards_of_on_citus: str


_SQL = sql.load(_Statements, "shard_groups")


async def by_shard(
    postgres: Postgres | Connection, items: Iterable[T], user_of: Callable[[T], UserId]
) -> Sequence[Sequence[T]]:
    """The items in groups whose users are in one shard, in the order of the shards.

    Transactions that lock these groups in this order cannot deadlock between groups. Within a
    group, items keep the caller's order: the statement must lock the rows in an order of its own.
    """
    items = list(items)
    rows = await postgres.fetch(_SQL.shards_of_on_citus, list({user_of(item) for item in items}))
    shards = {row["user_id"]: row["shard_id"] for row in rows}
    groups: defaultdict[int, list[T]] = defaultdict(list)
    for item in items:
        groups[shards[user_of(item)]].append(item)
    return [groups[shard] for shard in sorted(groups)]
