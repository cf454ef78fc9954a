"""Compares the engine with graphql-core and with functions written by hand.

    python -m bench.engine_micro

All three read the same rows in one process and produce the same bytes with orjson, so the ratios
show the cost of the execution. The hand-written function is a reference.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson

from bench.engine_rows import NAMES, PAGE, RELATIONS, USERS, cursor, schema
from engine import Engine


async def relations_by_hand(variables: dict[str, Any]) -> dict[str, Any]:
    user = variables["user"]
    relations = [
        {"user": {"id": row.user}, "status": NAMES[row.flags], "following": row.flags & 1 != 0,
         "since": row.since}
        for row in [RELATIONS[user, other] for other in variables["ids"]]
    ]  # fmt: skip
    return {"user": {"relationWith": relations}}


async def statuses_by_hand(variables: dict[str, Any]) -> dict[str, Any]:
    user = variables["user"]
    found = [RELATIONS[user, other] for other in variables["ids"]]
    return {"user": {"relationWith": [{"status": NAMES[row.flags]} for row in found]}}


async def page_by_hand(variables: dict[str, Any]) -> dict[str, Any]:
    edges = [
        {"cursor": cursor(edge), "followedAt": edge.followed_at, "node": {"id": edge.node}}
        for edge in PAGE[: variables["first"]]
    ]
    return {"user": {"following": {"totalCount": 12_345, "edges": edges}}}


async def nested_by_hand(variables: dict[str, Any]) -> dict[str, Any]:
    (viewer,) = variables["viewer"]
    users = []
    for user in variables["ids"]:
        edges = []
        for edge in PAGE[:10]:
            found = [RELATIONS[viewer, edge.node]]
            statuses = [{"status": NAMES[row.flags]} for row in found]
            edges.append({"node": {"id": edge.node, "relationWith": statuses}})
        users.append({"id": user, "following": {"edges": edges}})
    return {"users": users}


@dataclass(frozen=True, slots=True)
class Case:
    """An operation, and the hand-written function that returns its data."""

    name: str
    query: str
    variables: dict[str, Any]
    by_hand: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


CASES = [
    Case(
        "500 relations: user{id} status following since",
        "query($user: ID!, $ids: [ID!]!) { user(id: $user) { relationWith(ids: $ids) {"
        " user { id } status following since } } }",
        {"user": USERS[0], "ids": USERS[:500]},
        relations_by_hand,
    ),
    Case(
        "500 relations: status",
        "query($user: ID!, $ids: [ID!]!) { user(id: $user) {"
        " relationWith(ids: $ids) { status } } }",
        {"user": USERS[0], "ids": USERS[:500]},
        statuses_by_hand,
    ),
    Case(
        "page of 20: cursor followedAt node{id}",
        "query($user: ID!, $first: Int!) { user(id: $user) { following(first: $first) {"
        " totalCount edges { cursor followedAt node { id } } } } }",
        {"user": USERS[0], "first": 20},
        page_by_hand,
    ),
    Case(
        "20 x 10 nested, a relation each",
        "query($ids: [ID!]!, $viewer: [ID!]!) { users(ids: $ids) { id following(first: 10) {"
        " edges { node { id relationWith(ids: $viewer) { status } } } } } }",
        {"ids": USERS[:20], "viewer": USERS[:1]},
        nested_by_hand,
    ),
]


async def microseconds(work: Callable[[], Awaitable[Any]], seconds: float) -> float:
    """The wall time of one call of `work`: the best of five means, to exclude noise of other
    processes. `seconds`: how long all five take together."""
    await work()
    means: list[float] = []
    for _ in range(5):
        rounds, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / 5:
            await work()
            rounds += 1
        means.append((time.perf_counter() - start) / rounds * 1e6)
    return min(means)


async def compared(case: Case, engine: Engine, seconds: float) -> str:
    """Measure a case three ways, each for this time, after their results are compared. Returns a
    line of the table."""

    async def by_hand() -> bytes:
        return orjson.dumps({"data": await case.by_hand(case.variables)})

    async def by_engine() -> bytes:
        result = await engine.execute(query=case.query, variables=case.variables)
        return orjson.dumps(result.response())

    async def by_graphql_core() -> bytes:
        result = await schema.execute(case.query, variable_values=case.variables)
        return orjson.dumps({"data": result.data})

    assert orjson.loads(await by_hand()) == orjson.loads(await by_engine())
    assert await by_engine() == await by_graphql_core()
    hand, own, core = [
        await microseconds(work, seconds) for work in (by_hand, by_engine, by_graphql_core)
    ]
    return f"{case.name:50}{hand:9.1f}{own:9.1f}{core:13.1f}{own / hand:13.2f}{core / own:13.1f}"


async def main(seconds: float = 2.0) -> None:
    engine = Engine(schema)
    titles = (
        f"{'by hand':>9}{'engine':>9}{'graphql-core':>13}{'engine/hand':>13}{'core/engine':>13}"
    )
    print(f"{'µs for one operation, orjson included':50}{titles}")
    for case in CASES:
        print(await compared(case, engine, seconds))


if __name__ == "__main__":
    asyncio.run(main())
