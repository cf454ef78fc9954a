"""`load`: loads a file of edges into the graph, with a progress bar."""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gateway.commands.rate import Rate
from gateway.settings.config import Config
from graph.errors import Unavailable
from storage.postgres.load import bulk_load
from storage.postgres.load.bulk_load import LoadReport, OnBad
from storage.stores import open_stores

STDIN = Path("-")

_SUFFIXES = ((b"\x1f\x8b", ".csv.gz"), (b"\x28\xb5\x2f\xfd", ".csv.zst"), (b"PAR1", ".parquet"))
"""How compressed files and Parquet files begin."""


async def run(config: Config, file: Path, on_bad: OnBad) -> int:
    """Load `file`, or standard input for `-`. Return the exit code: 1 if the file was rejected.

    Standard input is copied to a temporary file first: a load reads it twice.

    Raises:
        BadInput: it is not a file of edges.
        Unavailable: PostgreSQL cannot be reached, or another load of this space is running.
    """
    if file != STDIN:
        return await _run(config, file, on_bad)
    with TemporaryDirectory(prefix="kith-load-") as folder:
        return await _run(config, _copied(sys.stdin.buffer, Path(folder)), on_bad)


def _copied(source: BinaryIO, folder: Path) -> Path:
    """Copy a stream to a file whose suffix says what it holds."""
    head = source.read(4)
    suffix = next((suffix for magic, suffix in _SUFFIXES if head.startswith(magic)), ".csv")
    copy = folder / f"stdin{suffix}"
    with copy.open("wb") as out:
        out.write(head)
        shutil.copyfileobj(source, out)
    return copy


async def _run(config: Config, file: Path, on_bad: OnBad) -> int:
    """Load a file. Return the exit code: 1 if it was rejected.

    Raises:
        BadInput: it is not a file of edges.
        Unavailable: PostgreSQL cannot be reached, or another load of this space is running.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.fields[edges]:,} edges"),
        TextColumn("{task.fields[rate]:,} lines a second"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("loading", edges=0, rate=0)
        rates = {True: Rate(), False: Rate()}

        async def show(progress: bulk_load.Progress) -> None:
            bar.update(
                task,
                description="checking" if progress.checking else "loading",
                completed=progress.bytes_read,
                total=progress.bytes_total,
                edges=progress.loaded + progress.present,
                rate=rates[progress.checking].per_second(progress.lines),
            )

        report = await bulk_load.bulk_load(config.storage, file, on_bad=on_bad, on_progress=show)
    await _delete_caches(config)
    _print_report(report)
    return 1 if report.rejected else 0


async def _delete_caches(config: Config) -> None:
    async with open_stores(config.storage) as stores:
        try:
            await stores.delete_caches()
        except Unavailable:
            message = (
                "The caches were not deleted, because Redis is unavailable. When it is back, run "
                "`kith verify --repair`."
            )
            typer.echo(message, err=True)


def _print_report(report: LoadReport) -> None:
    for bad in report.bad_lines:
        typer.echo(f"line {bad.number}: {bad.reason}", err=True)
    if report.bad > len(report.bad_lines):
        # Those of earlier loads of this file, which were interrupted, are counted too.
        typer.echo(f"… ({report.bad:,} bad lines in all)", err=True)
    if report.rejected:
        typer.echo(f"Rejected: {report.bad:,} bad lines; nothing was changed.", err=True)
        return
    resumed = f" (resumed after line {report.resumed_after:,})" if report.resumed_after else ""
    typer.echo(
        f"{report.loaded:,} edges loaded, {report.present:,} existed already, {report.skipped:,} "
        f"skipped (block, whisper, request or deleted account), {report.bad:,} bad "
        f"lines skipped{resumed}."
    )
