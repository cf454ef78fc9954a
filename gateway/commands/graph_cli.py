"""The commands for the graph of a space, from `kith migrate` to `kith lanes`, with their help."""

import asyncio
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
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
    exit_with,
    is_given,
)
from graph.edge import MAX_USER_ID, UserId
from storage.postgres.citus.placement import SHARDS
from storage.postgres.load.load_report import OnBad
from storage.space import checked_space


def migrate(
    state: StateFolder = STATE,
    space: Space = SPACE,
    partitions: Annotated[
        int,
        typer.Option(
            help="Hash partitions per table; fixed by the first migration. 0: not partitioned.",
            min=0,
        ),
    ] = 16,
    citus: Annotated[
        bool, typer.Option("--citus", help="Distribute the tables over the machines of Citus.")
    ] = False,
    shards: Annotated[
        int, typer.Option(help="With --citus: shards; fixed by the first --citus.", min=1, max=1024)
    ] = SHARDS,
) -> None:
    """Migrate the space's tables to the newest version. Safe to repeat and to run concurrently."""
    from gateway.settings.server_config import direct_database
    from storage.postgres.migrate import migrate as apply

    with errors_without_traceback(), audited_command("migrate", space=space):
        checked_space(space)
        database = direct_database(state)
        applied = asyncio.run(
            apply(
                database.url,
                space,
                partitions,
                database.password_file,
                shards=shards if citus else None,
            )
        )
        typer.echo(f"{space}: applied {', '.join(applied)}" if applied else f"{space}: up to date")


def load(
    file: Annotated[
        Path,
        typer.Argument(
            help="from_user_id,to_user_id[,created_at_ms] as .csv, .csv.gz, .csv.zst or"
            " .parquet (needs pyarrow); - for standard input"
        ),
    ],
    state: StateFolder = STATE,
    space: Space = SPACE,
    on_bad: Annotated[
        OnBad, typer.Option(help="Invalid lines: report and skip them, or reject the file.")
    ] = OnBad.SKIP,
) -> None:
    """Load a file of edges. Safe to repeat; an interrupted load resumes where it stopped."""
    from gateway.commands.load import run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("load", space=space, file=str(file)):
        exit_with(asyncio.run(run(read_config(state, space), file, on_bad)))


def export(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A new .csv, .csv.gz, .csv.zst or .parquet (needs pyarrow); with --subject, a new"
            " file of JSON, or none for standard output"
        ),
    ] = None,
    state: StateFolder = STATE,
    space: Space = SPACE,
    subject: Annotated[
        int | None,
        typer.Option(
            help="Write all that is stored about this user as JSON.", min=1, max=MAX_USER_ID
        ),
    ] = None,
    all_kinds: Annotated[
        bool,
        typer.Option(
            "--all-kinds",
            help="Also whispers, requests and blocks, with the columns kind and flags.",
        ),
    ] = False,
    since: Annotated[
        datetime | None, typer.Option(help="Only edges that began at this time (UTC) or later.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Only edges that began before this time (UTC).")
    ] = None,
    part: Annotated[
        str, typer.Option("--slice", help="One slice of all users: 2/8 is the second of eight.")
    ] = "1/1",
) -> None:
    """Write all follows to a file that `load` reads. An interrupted export resumes."""
    if subject is not None:
        _export_account(context, subject, file, state, space)
        return
    from gateway.commands.graph_export import run, selected
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("export", space=space, file=str(file)):
        if file is None:
            raise ValueError("Name a file, or a user with --subject.")
        selection = selected(part, since, until, all_kinds=all_kinds or file.suffix == ".parquet")
        asyncio.run(run(read_config(state, space), file, selection, with_kinds=all_kinds))


def _export_account(
    context: typer.Context, subject: int, file: Path | None, state: Path, space: str
) -> None:
    from gateway.services.account_export import run
    from gateway.settings.config import read_config

    with errors_without_traceback(), audited_command("export", space=space, target=subject):
        if is_given(context, "all_kinds", "since", "until", "part"):
            raise ValueError("--subject has no other options of export than a file.")
        asyncio.run(run(read_config(state, space), UserId(subject), file))


def verify(
    state: StateFolder = STATE,
    space: Space = SPACE,
    repair: Annotated[bool, typer.Option("--repair", help="Correct the drift.")] = False,
    examples: Annotated[
        int,
        typer.Option(help="The number of examples for each kind of drift.", min=0, max=SHOWN_MAX),
    ] = 5,
) -> None:
    """Check that forward and reverse rows, counts and caches agree. Exits with 1 if they do not."""
    from gateway.commands.verify import run
    from gateway.settings.config import read_config

    audit = audited_command("verify --repair", space=space) if repair else nullcontext()
    with errors_without_traceback(), audit:
        exit_with(asyncio.run(run(read_config(state, space), repair=repair, examples=examples)))


def lanes(
    wanted: Annotated[
        int | None, typer.Option("--set", help="The new number: 8, 16, 32, 64, 128 or 256.")
    ] = None,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Show or set the number of lanes: how many drains can run at once. Safe while in use."""
    from gateway.settings.config import read_config
    from graph.lane import LANES, LANES_MAX
    from storage.postgres.lanes import count_lanes, set_lanes

    changes = wanted is not None
    audit = audited_command("lanes --set", space=space, lanes=wanted) if changes else nullcontext()
    with errors_without_traceback(), audit:
        storage = read_config(state, space).storage
        if wanted is not None:
            if wanted.bit_count() != 1 or not LANES <= wanted <= LANES_MAX:
                raise ValueError(f"--set must be 8, 16, 32, 64, 128 or 256, got {wanted}.")
            asyncio.run(set_lanes(storage, wanted))
        typer.echo(f"{space}: {asyncio.run(count_lanes(storage))} lanes")
