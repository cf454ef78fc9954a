"""Prints docs/capacity.md from the measured figures and the assumptions.

python -m bench.capacity_page > docs/capacity.md
"""

from collections.abc import Iterator, Mapping
from itertools import chain, groupby
from typing import Any

from bench.markdown import row
from bench.measured import TABLES
from gateway.capacity.assumptions import ASSUMPTIONS, assumptions
from gateway.capacity.demand import Demand
from gateway.capacity.inputs import Input, Inputs
from gateway.capacity.measured import measured_inputs, read_measured
from gateway.capacity.plan import Plan, plan
from gateway.capacity.report import number

_HEAD = """\
# Capacity

The size of a graph, the cost of its reads and writes, and the machines that it needs.

```sh
kith capacity --edges 5e9 --writes 1000 --lists 200000 --checks 500000
```

prints the plan below, each figure with the names of the inputs that it comes from. `--json` prints
the same as JSON.

An input is a part of the demand, a measured figure or an assumption. [The
bench](../bench/README.md#capacity) measures; its figures are in `gateway/capacity/measured.json`.
`--from FILE` replaces them by those of your own machines. `--assume NAME=VALUE` changes an
assumption. The formulas are in `gateway/capacity/`, one file for each part.

The plan multiplies costs that were measured on small machines. Load your own before you rely on it.
"""
_TAIL = """\

The hit rate matters most: it decides the cores and the disks of PostgreSQL. With 90% instead of
95%, PostgreSQL reads nearly twice as many blocks (`--assume hits=0.9`).

When a region fails, the other one begins with empty caches, which takes longer than all else: its
PostgreSQL serves a part of the reads only. Let operations be [rejected with
`OVERLOADED`](security.md#overload) meanwhile, or keep a cluster of caches warm there.
"""
_SIZES = {
    "one machine": Demand(10_000_000, 20, 2_000, 5_000),
    "three machines": Demand(200_000_000, 100, 10_000, 25_000),
    "Citus and a cluster": Demand(),
}
_COMPARED = (
    ("PostgreSQL", "disk of one copy, with WAL and headroom"),
    ("PostgreSQL", "backups and WAL archive"),
    ("PostgreSQL", "blocks read from disk"),
    ("PostgreSQL", "cores"),
    ("PostgreSQL", "machines for one copy"),
    ("caches", "memory with fragmentation"),
    ("caches", "primaries"),
    ("gateways", "cores, a process on each"),
    ("gateways", "connections to PostgreSQL, at most"),
    ("workers", "cores"),
)
"""The rows of the table that compares the three sizes."""
_PROCESSES = {
    "gateway": "gateway",
    "worker": "worker",
    "valkey": "Valkey",
    "postgres": "PostgreSQL",
}
_CACHED = {
    "relations": "relation hash",
    "following": "following list",
    "followers": "followers list",
    "profile": "profile",
}


def page() -> str:
    """The whole page."""
    measured = read_measured()
    inputs = measured_inputs(measured)
    capacity_plan = plan(Demand(), inputs, assumptions())
    parts = (
        _machines(capacity_plan),
        _sizes(inputs),
        _assumed(),
        _bytes(measured["sizes"]),
        _cpu(Inputs(inputs), measured["reads"]["edges"]),
        _traffic(inputs),
    )
    return "".join([_HEAD, *chain(*parts)])


def _machines(capacity_plan: Plan) -> Iterator[str]:
    demand = Demand()
    yield f"\n## Machines for {demand.edges / 1e9:g} billion edges\n\n"
    yield f"{demand.writes:,} writes, {demand.lists:,} pages and {demand.checks:,} checks a second:"
    yield "\n\n"
    yield row(["part", "", "", "unit"]) + row(["---", "---", "---:", "---"])
    for part, group in groupby(capacity_plan.planned, lambda one: one.part):
        for index, one in enumerate(group):
            yield row(["" if index else part, one.title, number(one.value), one.unit])
    yield _TAIL


def _sizes(inputs: tuple[Input, ...]) -> Iterator[str]:
    plans = [plan(demand, inputs, assumptions()) for demand in _SIZES.values()]
    yield "\n## Three sizes\n\nOf the three [deployments](deployment.md):\n\n"
    yield row(["", *_SIZES, "unit"]) + row(["---", *["---:"] * len(_SIZES), "---"])
    for name, unit in (("edges", ""), ("writes", "1/s"), ("lists", "1/s"), ("checks", "1/s")):
        values = (number(getattr(demand, name)) for demand in _SIZES.values())
        yield row([name, *values, unit])
    units = {(one.part, one.title): one.unit for one in plans[0].planned}
    for key in _COMPARED:
        values = (number(capacity_plan.value(*key)) for capacity_plan in plans)
        yield row([": ".join(key), *values, units[key]])
    yield "\nA small graph fits into memory: `--assume memory_share=1` if it does.\n"


def _assumed() -> Iterator[str]:
    yield "\n## Assumptions\n\n"
    yield row(["name", "default", "unit", "meaning"]) + row(["---", "---:", "---", "---"])
    for one in ASSUMPTIONS:
        yield row([f"`{one.name}`", number(one.value), one.unit, one.source])


def _bytes(sizes: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Bytes\n\n"
    yield f"A graph of {_millions(sizes['edges'])} million edges, freshly loaded:\n\n"
    yield row(["", "bytes an edge"]) + row(["---", "---:"])
    for name, size in sizes["bytes_per_edge_in"].items():
        yield row([f"`{name}`: rows" if name in TABLES else f"`{name}`", f"{size:.0f}"])
    yield row(["both directions, all tables and indexes", f"{sizes['bytes_per_edge']:.0f}"])
    user = f"{sizes['bytes_per_user']:.0f}"
    yield f"\nThe two count tables take {user} bytes a user with their keys.\n\n"
    yield row(["cached value", "bytes a user", "bytes an entry"]) + row(["---", "---:", "---:"])
    for kind, size in sizes["cached_bytes"].items():
        yield row([_CACHED[kind], f"{size['per_user']:,.0f}", f"{size['per_entry']:,.0f}"])
    yield "\n(ordinary users of the bench: 10 to 900 followings, at most 4,000 followers)\n"


def _millions(edges: int) -> str:
    return f"{round(edges / 1e6, 1):g}"


def _cpu(costs: Inputs, edges: int) -> Iterator[str]:
    known = {one.name for one in costs}
    yield f"\n## CPU\n\nReads of a graph of {_millions(edges)} million edges:\n\n"
    yield row(["microseconds", *_PROCESSES.values()]) + row(["---", *["---:"] * len(_PROCESSES)])
    for kind, title in (
        ("page", "page of 20, cached"),
        ("check", "20 checks, cached"),
        ("miss", "a read with nothing cached"),
        ("write", "a follow"),
    ):
        names = [f"{kind}_{process}_us" for process in _PROCESSES]
        yield row([title, *(f"{costs[name]:.0f}" if name in known else "" for name in names)])
    page, check, write = (costs[f"{kind}_cluster_ratio"] for kind in ("page", "check", "write"))
    yield "\nWith the caches in a cluster of 3 + 3 servers, a gateway takes "
    yield f"{page:.2f} times as long for a page,\n{check:.2f} times for 20 checks and "
    yield f"{write:.2f} times for a follow (`python -m bench.cluster`).\n"
    miss, write = (costs[f"{kind}_citus_ratio"] for kind in ("miss", "write"))
    yield "\nOn Citus with three workers, all PostgreSQL servers together take "
    yield f"{miss:.2f} times as long as one\nfor a read with nothing cached, and {write:.2f} times "
    yield "for a follow (`python -m bench.citus`).\n"


def _traffic(inputs: tuple[Input, ...]) -> Iterator[str]:
    yield "\n## Blocks, WAL and networks\n\n"
    yield row(["counted", "", "unit"]) + row(["---", "---:", "---"])
    for one in inputs:
        if "bench.traffic" in one.source:
            yield row([one.source.partition(" (`")[0], number(one.value), one.unit])
    yield (
        "\nThe tables were freshly loaded, so the rows of a user are in few blocks. In tables\n"
        "that were filled by single writes, each row is in another block: `heap_fetches` adds\n"
        "those that the index does not answer for, because they changed after VACUUM.\n"
    )


if __name__ == "__main__":
    print(page(), end="")
