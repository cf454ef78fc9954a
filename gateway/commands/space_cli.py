"""The commands `kith space …`, with their help."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from gateway.commands.audit import audited_command
from gateway.commands.cli_options import SPACE, STATE, Space, StateFolder, errors_without_traceback
from storage.postgres.citus.placement import SHARDS

app = typer.Typer(
    help="Create, list, change or drop the spaces that gateways and workers with KITH_SPACES serve."
    " --space is the default space, whose schema stores the list of spaces.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the space.")]
Changes = Annotated[
    list[str],
    typer.Argument(metavar="VARIABLE=VALUE...", help="Settings; an empty value removes one."),
]
Partitions = Annotated[
    int, typer.Option(help="Hash partitions per table of a new space. 0: not partitioned.", min=0)
]

_VARIABLE = re.compile(r"((?:KITH|DATABASE|REDIS)_[A-Z0-9_]{1,60})=")


@app.command()
def create(
    name: Name,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="VARIABLE=VALUE", help="A setting. Can be repeated."),
    ] = None,
    partitions: Partitions = 16,
    citus: Annotated[
        bool, typer.Option("--citus", help="Distribute the tables over the machines of Citus.")
    ] = False,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Create a space. Safe to repeat if it was interrupted."""
    from gateway.commands.space_commands import create as run
    from gateway.settings.config import read_config

    given = settings or ()
    with (
        errors_without_traceback(),
        audited_command("space create", space=name, settings=_variables(given)),
    ):
        shards = SHARDS if citus else None
        config = read_config(state, space)
        asyncio.run(run(config, name, _settings(given), partitions, shards))


@app.command("list")
def list_(state: StateFolder = STATE, space: Space = SPACE) -> None:
    """List the spaces with their states and settings."""
    from gateway.commands.space_commands import show
    from gateway.settings.config import read_config

    with errors_without_traceback():
        asyncio.run(show(read_config(state, space)))


@app.command("set")
def set_(name: Name, changes: Changes, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Change settings of a space. Gateways and workers follow without a restart."""
    from gateway.commands.space_commands import set_settings
    from gateway.settings.config import read_config

    variables = _variables(changes)
    with errors_without_traceback(), audited_command("space set", space=name, settings=variables):
        asyncio.run(set_settings(read_config(state, space), name, _settings(changes)))


@app.command("copy-settings")
def copy_settings(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The space to copy from.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The space to copy to.")],
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Give a space the settings of another one, in place of its own."""
    from gateway.commands.space_commands import copy_settings as run
    from gateway.settings.config import read_config

    with (
        errors_without_traceback(),
        audited_command("space copy-settings", space=target, source=source),
    ):
        asyncio.run(run(read_config(state, space), source, target))


@app.command()
def migrate(partitions: Partitions = 16, state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Migrate the default space and all others to the newest version. Safe to repeat."""
    from gateway.commands.space_commands import migrate_all
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("space migrate", space=space):
        asyncio.run(migrate_all(read_config(state, space), partitions))


@app.command()
def drop(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for the name again.")] = False,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Drop a space: its tables, caches, events and queue. Safe to repeat if it was interrupted."""
    from gateway.commands.space_commands import drop as run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("space drop", space=name):
        if not yes:
            again = typer.prompt(f"All data of {name} will be lost. Enter its name to drop it")
            if again != name:
                raise ValueError(f"{again!r} is not {name!r}. Nothing was dropped.")
        asyncio.run(run(read_config(state, space), name))


def _variables(texts: Sequence[str]) -> list[str]:
    """The variables in `VARIABLE=VALUE` texts, for the audit log. Texts without a variable are
    omitted: an operator may have pasted a secret."""
    return [found[1] for text in texts if (found := _VARIABLE.match(text))]


def _settings(texts: Sequence[str]) -> Mapping[str, str]:
    """The settings in `VARIABLE=VALUE` texts. Raises ValueError."""
    for text in texts:
        if "=" not in text:
            raise ValueError(f"{text[:100]!r} is no setting. Write VARIABLE=VALUE.")
    return dict(text.split("=", 1) for text in texts)
