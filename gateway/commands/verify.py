"""`verify`: compares the tables and then the caches of a space, and prints differences."""

import typer
from rich.console import Console
from rich.status import Status

from gateway.commands.rate import Rate
from gateway.settings.config import Config
from graph.errors import Unavailable
from storage.postgres.verification.run import VerifyProgress, VerifyReport
from storage.postgres.verification.verify import verify
from storage.stores import Stores, open_stores

INCOMPLETE = 2
"""The exit code if not all cached values could be compared."""


async def run(config: Config, *, repair: bool, examples: int) -> int:
    """Verify one space. Return the exit code: 1 if there was drift, also if it is repaired; 2 if
    there was none, and the check is incomplete.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    rate = Rate()
    with Console(stderr=True).status("comparing rows") as status:

        async def show(progress: VerifyProgress) -> None:
            done = progress.forward_rows + progress.reverse_rows + progress.users
            status.update(
                f"comparing rows: {progress.forward_rows:,} forward, {progress.reverse_rows:,} "
                f"reverse, {progress.users:,} users, {progress.drifts:,} drifts, "
                f"{rate.per_second(done):,} a second"
            )

        report = await verify(config.storage, repair=repair, examples=examples, on_progress=show)
        _print_report(report)
        async with open_stores(config.storage) as stores:
            wrong = await _compare_caches(stores, status, repair=repair, examples=examples)
            if repair and (report.repaired or wrong):
                await _notify_all_subscribers(stores)
    if not report.clean or wrong:
        return 1
    return INCOMPLETE if wrong is None else 0


def _print_report(report: VerifyReport) -> None:
    typer.echo(
        f"{report.forward_rows:,} forward rows, {report.reverse_rows:,} reverse rows, counts of "
        f"{report.users:,} users; {report.pending:,} edges on their way were left out."
    )
    for drift in report.drifts:
        _print_drift(drift.kind.value, drift.count, drift.examples)
    if report.repaired:
        typer.echo(f"repaired {report.repaired:,}; run again to see that all is well")


def _print_drift(kind: str, count: int, examples: tuple[str, ...]) -> None:
    typer.echo(f"DRIFT {kind}: {count:,}")
    for example in examples:
        typer.echo(f"  {example}")


async def _notify_all_subscribers(stores: Stores) -> None:
    """Tell all subscribers to read again after a repair."""
    try:
        await stores.broker.events.resync()
    except Unavailable:
        typer.echo("Redis is unavailable: subscribers were not woken.", err=True)


async def _compare_caches(
    stores: Stores, status: Status, *, repair: bool, examples: int
) -> int | None:
    """Compare cached values with the tables, and delete wrong ones if `repair` is set.

    Returns the number of wrong ones; None if none was found before Redis became unavailable.
    """
    compared, wrong = 0, 0
    shown: list[str] = []
    try:
        async for batch in stores.caches.verifier.batches():
            compared += batch.compared
            wrong += len(batch.wrong)
            shown += batch.wrong[: examples - len(shown)]
            status.update(f"comparing caches: {compared:,} values, {wrong:,} drifts")
            if repair:
                await stores.caches.verifier.delete(batch.wrong)
    except Unavailable:
        typer.echo("Redis is down: the caches could not all be compared.", err=True)
        return wrong or None
    typer.echo(f"{compared:,} cached values.")
    if wrong:
        _print_drift("cached value differs", wrong, tuple(shown))
    return wrong
