"""The command line: the list of all commands.

The functions of commands import what they run, so that `--help` takes a moment and not seconds.
"""

from typing import Annotated

import typer

from gateway.commands import (
    graph_cli,
    outbox_cli,
    print_cli,
    process_cli,
    shards_cli,
    space_cli,
    webhooks_cli,
)
from gateway.version import VERSION

app = typer.Typer(
    help="Kith: a GraphQL gateway over a social graph.\n\n"
    "The servers are those in DATABASE_URL and REDIS_URL, or those of a running `dev`."
    " docs/settings.md lists all settings.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kith {VERSION}")
        raise typer.Exit


@app.callback()
def kith(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None: ...


for command in (
    process_cli.dev,
    process_cli.serve,
    process_cli.worker,
    graph_cli.migrate,
    graph_cli.load,
    graph_cli.export,
    graph_cli.verify,
    graph_cli.lanes,
    print_cli.capacity,
    print_cli.token,
    print_cli.sdl,
):
    app.command()(command)

app.add_typer(space_cli.app, name="space")
app.add_typer(webhooks_cli.app, name="webhooks")
app.add_typer(outbox_cli.app, name="outbox")
app.add_typer(shards_cli.app, name="shards")
