"""`load`: loads a file of edges into the graph, with a progress bar."""

from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gateway.config import Config
from graph.errors import Unavailable
from storage.postgres import bulk_load
from storage.postgres.bulk_load import LoadReport, OnBad
from storage.stores import open_stores


async def run(config: Config, file: Path, on_bad: OnBad) -> int:
    """Load `file`. Return the exit code: 1 if the file was rejected.

    Raises:
        BadInput: it is not a file of edges.
        Unavailable: PostgreSQL cannot be reached, or another load of this space is running.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.fields[edges]:,} edges"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("loading", edges=0)

        async def show(progress: bulk_load.Progress) -> None:
            bar.update(
                task,
                description="checking" if progress.checking else "loading",
                completed=progress.bytes_read,
                total=progress.bytes_total,
                edges=progress.loaded + progress.present,
            )

        report = await bulk_load.bulk_load(config.storage, file, on_bad=on_bad, on_progress=show)
    await _forget_caches(config)
    _say(report)
    return 1 if report.refused else 0


async def _forget_caches(config: Config) -> None:
    async with open_stores(config.storage) as stores:
        try:
            await stores.forget_everything()
        except Unavailable:
            typer.echo("Redis is down: if it comes back with old data, flush the space.", err=True)


def _say(report: LoadReport) -> None:
    for bad in report.bad_lines:
        typer.echo(f"line {bad.number}: {bad.reason}", err=True)
    if report.bad > len(report.bad_lines):
        typer.echo(f"… and {report.bad - len(report.bad_lines):,} more bad lines", err=True)
    if report.refused:
        typer.echo(f"Refused: {report.bad:,} bad lines; nothing was changed.", err=True)
        return
    resumed = f" (resumed after line {report.resumed_after:,})" if report.resumed_after else ""
    typer.echo(
        f"{report.loaded:,} edges loaded, {report.present:,} were there already, {report.kept:,} "
        f"may not be, {report.bad:,} bad lines skipped{resumed}."
    )
