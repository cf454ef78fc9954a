"""`outbox list`, `outbox retry` and `outbox drop`: the changes that could not be applied."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import typer

from gateway.settings.config import Config
from storage.postgres.failed_changes import FailedChange
from storage.stores import open_stores

NOT_FOUND = 1
"""The exit code if an id is no failed change."""


async def show(config: Config, limit: int) -> None:
    """Print the failed changes of a space.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    async with open_stores(config.storage) as stores:
        count = await stores.jobs.lanes.failed_changes.count()
        for change in await stores.jobs.lanes.failed_changes.first(limit):
            typer.echo(_line(change))
    typer.echo(f"{count:,} failed changes." if count else "No failed changes.")


async def retry(config: Config, ids: Sequence[int] | None) -> int:
    """Return failed changes to their lanes, all if `ids` is None. Return the exit code: 1 if one of
    `ids` is no failed change.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    async with open_stores(config.storage) as stores:
        lanes = await stores.jobs.lanes.failed_changes.retry(ids)
        stores.broker.lanes.wake(lanes.values())
        await stores.broker.lanes.wait_until_queued()
    typer.echo(f"{len(lanes):,} changes are tried again.")
    return _missing(ids or (), lanes.keys())


async def drop(config: Config, ids: Sequence[int]) -> int:
    """Delete failed changes. Return the exit code: 1 if one of `ids` is no failed change.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    async with open_stores(config.storage) as stores:
        dropped = await stores.jobs.lanes.failed_changes.drop(ids)
    typer.echo(f"{len(dropped):,} changes were dropped.")
    if dropped:
        typer.echo("Run `kith verify --repair`: reverse rows, counts and caches lack them.")
    return _missing(ids, dropped)


def _line(change: FailedChange) -> str:
    at = datetime.fromtimestamp(change.version / 1_000_000, UTC).isoformat(timespec="seconds")
    source, target = change.pair
    return (
        f"{change.id}  {at}  {source} to {target}  {change.kind_name}  "
        f"tried {change.tries} times  {change.error}"
    )


def _missing(ids: Sequence[int], found: Iterable[int]) -> int:
    missing = sorted(set(ids) - set(found))
    for change in missing:
        typer.echo(f"{change} is not a failed change.", err=True)
    return NOT_FOUND if missing else 0
