"""The commands `kith webhooks …`, with their help."""

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
)

app = typer.Typer(
    help="Add, list or change the endpoints of webhooks, and read or replay their deliveries.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the endpoint.")]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="TYPE", help="An event type. Can be repeated. Without it: all types."
    ),
]


@app.command()
def add(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent.")],
    types: Types = None,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Add an endpoint, and print its secret, which is not shown again."""
    from gateway.commands.webhook_commands import add as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks add", space=space, endpoint=name):
        asyncio.run(run(read_config(state, space), name, url, types or ()))


@app.command("list")
def list_(state: StateFolder = STATE, space: Space = SPACE) -> None:
    """List the endpoints with their states and backlogs."""
    from gateway.commands.webhook_commands import show
    from gateway.settings.config import read_config

    with errors_without_traceback():
        asyncio.run(show(read_config(state, space)))


@app.command()
def rotate(
    name: Name,
    overlap: Annotated[
        int,
        typer.Option(help="Hours for which the previous secret signs as well.", min=0, max=168),
    ] = 24,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Give an endpoint a new secret, and print it."""
    from gateway.commands.webhook_commands import rotate as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks rotate", space=space, endpoint=name):
        asyncio.run(run(read_config(state, space), name, overlap))


@app.command()
def pause(name: Name, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Send nothing to an endpoint. Its events wait, for KITH_WEBHOOKS_KEPT_S at most."""
    from gateway.commands.webhook_commands import pause as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks pause", space=space, endpoint=name):
        asyncio.run(run(read_config(state, space), name))


@app.command()
def resume(name: Name, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Send again to an endpoint that was paused or disabled."""
    from gateway.commands.webhook_commands import resume as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks resume", space=space, endpoint=name):
        asyncio.run(run(read_config(state, space), name))


@app.command()
def remove(name: Name, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Delete an endpoint with its secret and its deliveries. More than 100,000 deliveries are
    deleted by the workers, later."""
    from gateway.commands.webhook_commands import remove as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks remove", space=space, endpoint=name):
        asyncio.run(run(read_config(state, space), name))


@app.command()
def log(
    name: Name,
    limit: Annotated[
        int, typer.Option("--limit", help="How many are shown.", min=1, max=SHOWN_MAX)
    ] = 50,
    only: Annotated[
        str, typer.Option("--only", help="Only waiting, delivered or parked (given up) ones.")
    ] = "",
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Show the newest deliveries to an endpoint."""
    from gateway.commands.webhook_commands import show_log
    from gateway.settings.config import read_config

    with errors_without_traceback():
        asyncio.run(show_log(read_config(state, space), name, only, limit))


@app.command()
def replay(
    name: Name,
    ids: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="ID...", help="Ids of deliveries, as `log` shows them.", min=1, max=ID_MAX
        ),
    ] = None,
    parked: Annotated[bool, typer.Option("--parked", help="All parked deliveries.")] = False,
    delivered: Annotated[
        int | None,
        typer.Option(
            "--delivered", metavar="HOURS", help="All deliveries of the last hours.", min=1, max=168
        ),
    ] = None,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Send deliveries once more, up to 100,000 at once."""
    from gateway.commands.webhook_commands import replay as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks replay", space=space, endpoint=name):
        if sum((bool(ids), parked, delivered is not None)) != 1:
            raise ValueError("Give ids of deliveries, or --parked, or --delivered.")
        code = asyncio.run(run(read_config(state, space), name, ids, delivered))
        if code:
            raise typer.Exit(code)


@app.command("test")
def send_test(name: Name, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Send an event of the type TEST from here. Exits with 1 if it is not accepted."""
    from gateway.commands.webhook_commands import send_test as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("webhooks test", space=space, endpoint=name):
        code = asyncio.run(run(read_config(state, space), name))
        if code:
            raise typer.Exit(code)
