"""The commands `kith outbox …`, with their help."""

import asyncio
from typing import Annotated

import typer

from gateway.commands.audit import audited_command
from gateway.commands.cli_options import (
    ID_MAX,
    SHOWN_MAX,
    SPACE,
    STATE,
    Space,
    StateFolder,
    errors_without_traceback,
    exit_with,
)

app = typer.Typer(
    help="List, retry or drop the failed changes: those that workers could not apply.",
    no_args_is_help=True,
)

_IDS = typer.Argument(
    metavar="ID...", help="Ids of changes, as `list` shows them.", min=1, max=ID_MAX
)


@app.command("list")
def list_(
    state: StateFolder = STATE,
    space: Space = SPACE,
    limit: Annotated[
        int, typer.Option("--limit", help="How many are shown.", min=1, max=SHOWN_MAX)
    ] = 100,
) -> None:
    """List the failed changes with their errors."""
    from gateway.commands.outbox import show
    from gateway.settings.config import read_config

    with errors_without_traceback():
        asyncio.run(show(read_config(state, space), limit))


@app.command()
def retry(
    ids: Annotated[list[int] | None, _IDS] = None,
    every: Annotated[bool, typer.Option("--all", help="All failed changes.")] = False,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Let the workers apply failed changes again. Exits with 1 if an id is no failed change."""
    from gateway.commands.outbox import retry as run
    from gateway.settings.config import read_config

    shown = "all" if every else ids
    with errors_without_traceback(), audited_command("outbox retry", space=space, changes=shown):
        if bool(ids) == every:
            raise ValueError("Give ids of failed changes, or --all.")
        exit_with(asyncio.run(run(read_config(state, space), None if every else ids)))


@app.command()
def drop(
    ids: Annotated[list[int], _IDS],
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Delete failed changes. `verify --repair` then copies the edges that they were about."""
    from gateway.commands.outbox import drop as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("outbox drop", space=space, changes=ids):
        exit_with(asyncio.run(run(read_config(state, space), ids)))
