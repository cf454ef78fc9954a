"""Prints docs/capacity.md from the measured figures.

python -m bench.capacity_page > docs/capacity.md
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from textwrap import fill
from typing import Any

from bench.markdown import row
from bench.measured import TABLES, figures, read_measured
from bench.planning import Assumptions, Demand, needs

WIDTH = 100

_HEAD = """\
# Capacity

The size of a graph, the cost of its reads and writes, and the number of machines it needs.
[The bench](../bench/README.md#capacity) measures the figures, which are stored in
`bench/measured.json`. `bench/planning.py` computes the machines with the assumptions below.
`python -m bench.capacity --help` shows how to compute them for another demand.
"""
_ASSUMED = """\
For {billions:g} billion edges, {demand.writes_per_s:,} writes, {demand.pages_per_s:,} pages and
{demand.checks_per_s:,} checks a second ({demand.ids_per_check} in a request). Assumptions:
cores are {given.busy:.0%} busy, {given.hits:.0%} of the reads are cache hits,
{given.cached_users:.0%} of the users are cached at a time, {given.copies} copies of
PostgreSQL's data, tables {given.table_slack} times their fresh size; \
a machine has {given.cores} cores, {given.memory_gib}
GiB of memory and {given.disk_gib:,} GiB of disk; at least two of each."""
_TAIL = """\

Pages need most of the gateways, and cache misses most of PostgreSQL: watch the hit rate.
"""
_WHO = {"gateway": "gateway", "worker": "worker", "valkey": "Valkey", "postgres": "PostgreSQL"}
_CACHED = {
    "relations": "relation hash",
    "following": "following list",
    "followers": "followers list",
    "profile": "profile",
}


def page() -> str:
    """The whole page."""
    measured = read_measured()
    parts = (_bytes(measured["weights"]), _cpu(measured), _machines(measured))
    return "".join([_HEAD, *chain(*parts), _TAIL])


def _bytes(weights: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Bytes\n\n"
    yield f"A graph of {_millions(weights['edges'])} million edges, freshly loaded:\n\n"
    yield row(["", "bytes an edge"]) + row(["---", "---:"])
    for name, size in weights["bytes_per_edge_in"].items():
        yield row([f"`{name}`: rows" if name in TABLES else f"`{name}`", f"{size:.0f}"])
    yield row(["both directions, all tables and indexes", f"{weights['bytes_per_edge']:.0f}"])
    user = f"{weights['bytes_per_user']:.0f}"
    yield f"\nThe two count tables take {user} bytes a user with their keys.\n\n"
    yield row(["cached value", "bytes a user", "bytes an entry"]) + row(["---", "---:", "---:"])
    for kind, size in weights["cached_bytes"].items():
        yield row([_CACHED[kind], f"{size['per_user']:,.0f}", f"{size['per_entry']:,.0f}"])
    yield "\n(ordinary users of the bench: 10 to 900 followings, at most 4,000 followers)\n"


def _millions(edges: int) -> str:
    return f"{round(edges / 1e6, 1):g}"


def _cpu(measured: Mapping[str, Any]) -> Iterator[str]:
    costs, edges = figures(measured), measured["reads"]["edges"]
    yield f"\n## CPU\n\nReads of a graph of {_millions(edges)} million edges:\n\n"
    yield row(["microseconds", *_WHO.values()]) + row(["---", *["---:"] * len(_WHO)])
    for title, used in (
        ("page of 20, cached", costs.page_us),
        (f"{Demand().ids_per_check} checks, cached", costs.check_us),
        ("a read with nothing cached", costs.miss_us),
        ("a follow", costs.write_us),
    ):
        yield row([title, *(f"{used[who]:.0f}" if who in used else "" for who in _WHO)])


def _machines(measured: Mapping[str, Any]) -> Iterator[str]:
    demand, given = Demand(), Assumptions()
    assumed = _ASSUMED.format(demand=demand, billions=demand.edges / 1e9, given=given)
    yield f"\n## Machines\n\n{fill(assumed, WIDTH)}\n\n"
    yield row(["part", "cores", "memory, GiB", "disk, GiB", "machines"])
    yield row(["---", *["---:"] * 4])
    for need in needs(demand, figures(measured), given):
        sizes = (f"{size:,.0f}" if size else "" for size in (need.memory_gib, need.disk_gib))
        yield row([need.part, f"{need.cores:,.0f}", *sizes, str(need.machines)])


if __name__ == "__main__":
    print(page(), end="")
