"""`export`: writes the graph, or some of it, to a file, with a progress bar."""

import re
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gateway.settings.config import Config
from graph.edge import MAX_SINCE, Kind
from graph.errors import BadInput, Unavailable
from storage.postgres.graph_export import Selection, export_graph
from storage.stores import open_stores

SLICES_MAX = 1_000
_SLICE = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")
EVERY_KIND = (Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST, Kind.BLOCK)


def selected(
    part: str, since: datetime | None, until: datetime | None, *, all_kinds: bool
) -> Selection:
    """The edges that the options select; `part` is --slice. Raises BadInput."""
    match = _SLICE.fullmatch(part)
    number, slices = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= slices <= SLICES_MAX:
        raise BadInput("--slice", f"must be N/M with 1 <= N <= M <= {SLICES_MAX}, such as 2/8.")
    return Selection(
        kinds=EVERY_KIND if all_kinds else (Kind.FOLLOW,),
        since=_millis(since, 0),
        until=_millis(until, MAX_SINCE + 1),
        slice=number - 1,
        slices=slices,
    )


def _millis(moment: datetime | None, default: int) -> int:
    if moment is None:
        return default
    return int(moment.replace(tzinfo=UTC).timestamp() * 1000)


async def run(config: Config, file: Path, selection: Selection, *, with_kinds: bool) -> None:
    """Export to `file`.

    Raises:
        BadInput: the file exists, or an interrupted export of other edges does.
        Unavailable: PostgreSQL cannot be reached.
    """
    cursor = await _end_of_changes(config)
    columns = (
        TextColumn("exporting"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%  {task.completed:,.0f} edges  {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("exporting", total=None, rate="")

        async def show(edges: int, estimated_total: int) -> None:
            bar.update(task, completed=edges, total=estimated_total)
            speed = bar.tasks[0].speed
            bar.update(task, rate="" if speed is None else f"{speed:,.0f}/s")

        report = await export_graph(
            config.storage, file, selection, cursor, with_kinds=with_kinds, on_exported=show
        )
    resumed = f" (resumed after {report.resumed_after:,})" if report.resumed_after else ""
    typer.echo(f"{report.edges:,} edges{resumed}")
    if report.cursor is None:
        typer.echo("Redis is down, so there is no cursor of the change feed.", err=True)
    else:
        typer.echo(f"The change feed when the export began: /changes?after={report.cursor}")


async def _end_of_changes(config: Config) -> str | None:
    async with open_stores(config.storage) as stores:
        try:
            return await stores.changes.change_feed.end()
        except Unavailable:
            return None
