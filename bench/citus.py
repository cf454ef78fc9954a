"""Compares one plain PostgreSQL with Citus on a coordinator and three workers.

python -m bench.citus PREFIX [--users 20000] [--rounds 5] [--shards 32]

`PREFIX` is a PostgreSQL with the extension, as for `make citus-test`. Both sides run its server
with the same options. The gateway runs in this process, connects to the coordinator, and sends one
request after another: a page and 20 checks with nothing cached, a follow, and the drain of this
follow. The figures are CPU time and counts of each operation. The counts are read from the logs of
the servers.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import asyncpg
import orjson
import typer
import uvloop
from rich.console import Console
from rich.table import Table
from starlette.types import ASGIApp

from bench import caches
from bench.calls import KITH, applications, drain, gateway_config
from bench.cores import cores
from bench.counting import send_all
from bench.filling import NotFilled, ensure_filled, space_of
from bench.graph import Community, community
from bench.graphql_requests import Request
from bench.population import Population, population
from bench.processes import Meter, StoreProcesses
from bench.report import RESULTS
from bench.services import services
from bench.shapes import BY_NAME
from devstack.errors import DevstackError
from gateway.settings.config import Config
from graph.edge import UserId
from graph.lane import LANES, Lane, lane_of
from storage.postgres.migrate import migrate
from storage.stores import Stores, open_stores
from tests.support.citus import OPTIONS, citus_node, connect_nodes, running_citus
from tests.support.standby import Node
from tests.support.waiting import until

ONE, MANY = "PostgreSQL", "Citus"
READS = {"page": "followers-20", "check": "states-20"}
WRITE, DRAIN = "write", "drain"
TITLES = {
    "page": "followers, page of 20, nothing cached",
    "check": "relationWith, 20 ids, state, nothing cached",
    WRITE: "followUser",
    DRAIN: "drain of one change",
}
REQUESTS = 600
"""Enough for the resolution of CPU times, 10 ms."""
COUNTED = 40
"""Requests while the servers log statements, which takes CPU."""

_COMMON: Mapping[str, str] = {"shared_buffers": "128MB", "max_wal_size": "2GB", "autovacuum": "off"}
_LOG: Mapping[str, str] = {
    "logging_collector": "on",
    "log_filename": "bench.log",
    "log_line_prefix": "%a|",
    "log_min_messages": "notice",
}
_END = "the end of a count"
_WITHOUT_CITUS = {name: value for name, value in OPTIONS.items() if "citus" not in name + value}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU microseconds of one operation."""

    gateway_us: float
    postgres_us: float
    """CPU of the PostgreSQL servers on all machines."""


@dataclass(frozen=True, slots=True)
class Count:
    """The statements of one operation."""

    statements: float
    """From the gateway to PostgreSQL: a round trip each."""
    commands: float
    """From the coordinator to other machines, including those that begin and end transactions."""


@dataclass(slots=True)
class Measurements:
    """What was measured of one operation on one side."""

    costs: list[Cost] = field(default_factory=list)
    count: Count = Count(0, 0)

    def median_of(self, name: str) -> float:
        middle: float = median(getattr(cost, name) for cost in self.costs)
        return middle


Results = dict[str, dict[str, Measurements]]
"""The measurements by operation and side."""


@dataclass(frozen=True, slots=True)
class Side:
    """A gateway, and its PostgreSQL servers. The gateway connects to the first one."""

    config: Config
    gateway: ASGIApp
    stores: Stores
    nodes: Sequence[Node]
    people: Population

    @property
    def meters(self) -> Sequence[Meter]:
        return [StoreProcesses(node.folder, "postgres") for node in self.nodes]


@app.command()
def main(
    prefix: Annotated[Path, typer.Argument(help="Where PostgreSQL with Citus is installed.")],
    users: Annotated[int, typer.Option(help="Users of the graph.")] = 20_000,
    rounds: Annotated[int, typer.Option(help="Rounds of each operation.", min=1)] = 5,
    shards: Annotated[int, typer.Option(help="Shards of each table.")] = 32,
    state: Annotated[Path, typer.Option(help="The state folder.")] = Path(".kith-bench"),
) -> None:
    """Compare one server with Citus."""
    try:
        found = asyncio.run(_run(prefix, community(users, None), rounds, shards, state))
    except (DevstackError, NotFilled, ValueError) as error:
        typer.echo(f"bench: {error}", err=True)
        raise typer.Exit(1) from None
    Console(width=110).print(_table(found))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "citus.json").write_bytes(orjson.dumps(_content(found), option=orjson.OPT_INDENT_2))


async def _run(prefix: Path, graph: Community, rounds: int, shards: int, state: Path) -> Results:
    space = space_of(graph)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kith-citus-")))
        folder.chmod(0o755)  # noqa: ASYNC240 - at once
        running = await stack.enter_async_context(services(state, cores()))
        config = gateway_config(running, space)
        sides = {
            ONE: await stack.enter_async_context(_one(prefix, folder)),
            MANY: await stack.enter_async_context(_many(prefix, folder, space, shards)),
        }
        configs: dict[str, tuple[Config, Sequence[Node], Population]] = {}
        for name, nodes in sides.items():
            url = nodes[0].url
            redis_url = f"{running.redis_url.partition('?')[0]}?db={len(configs)}"
            marks = folder / name
            marks.mkdir()
            await ensure_filled(graph, url, redis_url, marks)
            people = await population(url, space)
            storage = replace(config.storage, database_url=url, redis_url=redis_url)
            configs[name] = replace(config, storage=storage), nodes, people
        return await asyncio.to_thread(uvloop.run, _compared(configs, rounds))


@asynccontextmanager
async def _one(prefix: Path, folder: Path) -> AsyncIterator[Sequence[Node]]:
    node = citus_node(prefix, folder / "one")
    await node.initialize()
    await node.start(**{**_WITHOUT_CITUS, **_COMMON, **_LOG})
    try:
        yield [node]
    finally:
        await node.kill()


@asynccontextmanager
async def _many(
    prefix: Path, folder: Path, space: str, shards: int
) -> AsyncIterator[Sequence[Node]]:
    async with running_citus(prefix, folder / "many", options={**_COMMON, **_LOG}) as citus:
        await connect_nodes([node.url for node in citus.nodes])
        await migrate(citus.coordinator.url, space, 0, shards=shards)
        yield citus.nodes


async def _compared(
    configs: Mapping[str, tuple[Config, Sequence[Node], Population]], rounds: int
) -> Results:
    async with AsyncExitStack() as stack:
        sides: dict[str, Side] = {}
        for name, (config, nodes, people) in configs.items():
            apps = await stack.enter_async_context(applications(config))
            stores = await stack.enter_async_context(open_stores(config.storage))
            sides[name] = Side(config, apps[KITH], stores, nodes, people)
        found: Results = {
            operation: {name: Measurements() for name in sides} for operation in TITLES
        }
        for number in range(-1, rounds):  # the first round is a warm-up
            for name, side in sides.items():
                for operation, cost in (await _costs(side, REQUESTS)).items():
                    if number >= 0:
                        found[operation][name].costs.append(cost)
        for name, side in sides.items():
            for operation, count in (await _counts(side)).items():
                found[operation][name].count = count
        return found


async def _costs(side: Side, requests: int) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    for kind, shape in READS.items():
        await caches.empty(side.config.storage.redis_url)
        cpu = _CpuMeter(side)
        await send_all(side.gateway, _distinct(side, shape, requests))
        found[kind] = cpu.per_request(requests)
    cpu = _CpuMeter(side)
    await send_all(side.gateway, _follows(side, requests))
    found[WRITE] = written = cpu.per_request(requests)
    await drain(side.config)
    cpu = _CpuMeter(side)
    for follow in _follows(side, requests):
        await send_all(side.gateway, [follow])
        await side.stores.jobs.lanes.drain.lane(_lane(follow))
    both = cpu.per_request(requests)
    found[DRAIN] = Cost(
        both.gateway_us - written.gateway_us, both.postgres_us - written.postgres_us
    )
    return found


def _follows(side: Side, requests: int) -> Sequence[Request]:
    """Requests that were not sent before."""
    return BY_NAME["follow"].requests(side.people, seed=time.time_ns())[:requests]


def _lane(follow: Request) -> Lane:
    return lane_of(UserId(int(orjson.loads(follow.body)["variables"]["input"]["userId"])), LANES)


def _distinct(side: Side, shape: str, requests: int) -> Sequence[Request]:
    """Requests about different users: each of them finds nothing cached."""
    assert requests <= len(side.people.ordinary)
    return BY_NAME[shape].requests(side.people)[:requests]


class _CpuMeter:
    """Measures the CPU time that this process and the servers use after its construction."""

    def __init__(self, side: Side) -> None:
        self._meters = side.meters
        self._postgres_s = self._read()
        self._gateway_s = time.process_time()

    def per_request(self, requests: int) -> Cost:
        """The mean cost of this number of operations."""
        gateway_s = time.process_time() - self._gateway_s
        postgres_s = self._read() - self._postgres_s
        return Cost(gateway_s / requests * 1e6, postgres_s / requests * 1e6)

    def _read(self) -> float:
        return sum(meter.cpu_s() for meter in self._meters)


async def _counts(side: Side) -> dict[str, Count]:
    """The statements and commands of each operation."""
    log = _Log(side.nodes[0], is_citus=len(side.nodes) > 1)
    found: dict[str, Count] = {}
    await log.begin()
    for kind, shape in READS.items():
        await caches.empty(side.config.storage.redis_url)
        await log.read()
        await send_all(side.gateway, _distinct(side, shape, COUNTED))
        found[kind] = await log.count(COUNTED)
    await log.read()
    await send_all(side.gateway, _follows(side, COUNTED))
    found[WRITE] = written = await log.count(COUNTED)
    await drain(side.config)
    await log.read()
    for follow in _follows(side, COUNTED):
        await send_all(side.gateway, [follow])
        await side.stores.jobs.lanes.drain.lane(_lane(follow))
    both = await log.count(COUNTED)
    found[DRAIN] = Count(both.statements - written.statements, both.commands - written.commands)
    return found


class _Log:
    """The log of the server that the gateway connects to."""

    def __init__(self, node: Node, *, is_citus: bool) -> None:
        self._node = node
        self._is_citus = is_citus
        self._file = node.folder / "log" / "bench.log"
        self._end = 0

    async def begin(self) -> None:
        """Let the server log statements, and commands to other machines."""
        statements = ["ALTER SYSTEM SET log_statement = 'all'"]
        if self._is_citus:
            statements.append("ALTER SYSTEM SET citus.log_remote_commands = on")
        for statement in (*statements, "SELECT pg_reload_conf()"):
            await self._execute(statement)

    async def read(self) -> list[str]:
        """The lines of Kith's connections since the last call."""
        number = time.monotonic_ns()
        mark = f"{_END} {number}"

        async def is_complete() -> bool:
            await self._execute(f"SELECT '{mark}'")
            return mark in self._content()

        await until(is_complete, "the log is written")
        content = self._content()
        lines = content[self._end :].partition(mark)[0].splitlines()
        self._end = len(content)
        return [line for line in lines if line.startswith("kith")]

    async def count(self, operations: int) -> Count:
        lines = await self.read()
        statements = _count(lines, "|LOG:  execute") + _count(lines, "|LOG:  statement")
        # What Citus runs on this machine is logged as a statement too.
        statements -= _count(lines, "|NOTICE:  executing the command locally")
        commands = _count(lines, "|NOTICE:  issuing")
        return Count(statements / operations, commands / operations)

    def _content(self) -> str:
        return self._file.read_text(encoding="utf-8", errors="replace")

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self._node.url)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def _count(lines: Sequence[str], text: str) -> int:
    return sum(text in line for line in lines)


def _content(found: Results) -> dict[str, Any]:
    return {
        "postgres_us_ratio": {
            "miss": round(_ratio(*(found[kind] for kind in READS)), 2),
            "write": round(_ratio(found[WRITE]), 2),
        },
        "operations": {
            kind: {
                name: {
                    "gateway_us": round(side.median_of("gateway_us"), 1),
                    "postgres_us": round(side.median_of("postgres_us"), 1),
                    "statements": round(side.count.statements, 2),
                    "commands": round(side.count.commands, 2),
                }
                for name, side in sides.items()
            }
            for kind, sides in found.items()
        },
    }


def _ratio(*operations: Mapping[str, Measurements]) -> float:
    """How many times as much CPU PostgreSQL uses on Citus."""
    one, many = (
        sum(one[side].median_of("postgres_us") for one in operations) for side in (ONE, MANY)
    )
    return many / one


def _table(found: Results) -> Table:
    table = Table(title="each: one PostgreSQL / Citus with three workers")
    for title in ("", "gateway, µs", "PostgreSQL, µs", "ratio", "statements", "commands"):
        table.add_column(title, justify="right" if title else "left")
    for kind, sides in found.items():
        one, many = sides[ONE], sides[MANY]
        table.add_row(
            TITLES[kind],
            f"{one.median_of('gateway_us'):,.0f} / {many.median_of('gateway_us'):,.0f}",
            f"{one.median_of('postgres_us'):,.0f} / {many.median_of('postgres_us'):,.0f}",
            f"{_ratio(sides):.2f}",
            f"{one.count.statements:.1f} / {many.count.statements:.1f}",
            f"{one.count.commands:.1f} / {many.count.commands:.1f}",
        )
    return table


if __name__ == "__main__":
    app()
