"""The commands `kith shards …`, with their help."""

import asyncio
from typing import Annotated

import typer

from gateway.commands.audit import audited_command
from gateway.commands.cli_options import (
    SHOWN_MAX,
    SPACE,
    STATE,
    Space,
    StateFolder,
    errors_without_traceback,
)
from graph.edge import MAX_USER_ID, UserId

app = typer.Typer(
    help="Show the shards of a space on Citus, or give a user one of their own.",
    invoke_without_command=True,
)


@app.callback()
def show_(
    context: typer.Context,
    state: StateFolder = STATE,
    space: Space = SPACE,
    limit: Annotated[
        int, typer.Option("--limit", help="How many shard groups are shown.", min=0, max=SHOWN_MAX)
    ] = 10,
    whales: Annotated[
        int,
        typer.Option(
            "--whales",
            help="How many users with the most edges are shown. Reads all counts.",
            min=0,
            max=SHOWN_MAX,
        ),
    ] = 0,
) -> None:
    """Show the machines, and the largest groups of shards with their rows and bytes."""
    if context.invoked_subcommand is not None:
        return
    from gateway.commands.shards import show
    from gateway.settings.config import read_config

    with errors_without_traceback():
        asyncio.run(show(read_config(state, space), limit, whales))


@app.command()
def isolate(
    user: Annotated[int, typer.Argument(metavar="USER", min=1, max=MAX_USER_ID)],
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Move a user's rows into shards of their own, at the coordinator. Safe while in use."""
    from gateway.commands.shards import isolate as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("shards isolate", space=space, target=user):
        asyncio.run(run(read_config(state, space), UserId(user)))
