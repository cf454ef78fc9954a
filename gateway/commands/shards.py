"""`shards` and `shards isolate`: the shards of a space on Citus."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import typer

from gateway.settings.config import Config
from graph.edge import UserId
from storage.postgres.citus import shards
from storage.postgres.citus.shards import ShardGroup, Whale

HOT = 2
"""A shard group with at least this many times the average number of bytes is hot."""


async def show(config: Config, limit: int, whales: int) -> None:
    """Print the machines, the largest shard groups, and the largest users.

    Raises:
        ValueError: the tables of the space are not on Citus.
        Unavailable: PostgreSQL cannot be reached.
    """
    groups = await shards.shard_groups(config.storage)
    for line in report(groups, limit):
        typer.echo(line)
    if whales:
        for whale in await shards.whales(config.storage, whales):
            typer.echo(_whale_line(whale, groups))


async def isolate(config: Config, user: UserId) -> None:
    """Move a user into a shard group of their own.

    Raises:
        ValueError: the tables of the space are not on Citus, or this is not the coordinator.
        Unavailable: PostgreSQL cannot be reached.
    """
    shard = await shards.isolate(config.storage, user)
    if shard is None:
        typer.echo(f"User {user} has a shard group alone already.")
    else:
        typer.echo(f"User {user} is alone in the group of shard {shard}.")


def report(groups: Sequence[ShardGroup], limit: int) -> Iterable[str]:
    """The lines about machines and shard groups."""
    total = sum(group.bytes for group in groups)
    by_node = sorted(groups, key=lambda group: group.node)
    nodes = {node: list(own) for node, own in groupby(by_node, key=lambda group: group.node)}
    edges = sum(group.edges for group in groups)
    yield (
        f"{len(groups):,} shard groups on {len(nodes):,} machines: {_size(total)}, about "
        f"{edges:,} rows of edges."
    )
    for node, own in nodes.items():
        bytes_, rows = sum(group.bytes for group in own), sum(group.edges for group in own)
        yield (
            f"machine {node}: {len(own):,} groups, {_size(bytes_)}, {_share(bytes_, total)}, "
            f"about {rows:,} rows"
        )
    average = total / len(groups)
    for group in sorted(groups, key=lambda group: -group.bytes)[:limit]:
        marks = ", HOT" if group.bytes >= HOT * average else ""
        marks += ", one user" if group.is_of_one else ""
        times = group.bytes / average if average else 1
        yield (
            f"shard {group.shard_id} on {group.node}: {_size(group.bytes)}, "
            f"{_share(group.bytes, total)}, {times:.1f} times the average, "
            f"about {group.edges:,} rows{marks}"
        )


def _whale_line(whale: Whale, groups: Sequence[ShardGroup]) -> str:
    group = next(group for group in groups if group.shard_id == whale.shard_id)
    share = _share(2 * whale.edges, group.edges) if group.edges else "an unknown share"
    alone = ", alone" if group.is_of_one else f", about {share} of its rows"
    return f"user {whale.user}: {whale.edges:,} edges to them, in shard {whale.shard_id}{alone}"


def _size(bytes_: int) -> str:
    size, unit = float(bytes_), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:,.1f} {unit}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"
