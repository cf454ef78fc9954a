"""The command line: one function for each command, with its help.

The functions import what they run, so that `--help` takes a moment and not seconds.
"""

import asyncio
import logging
import sys
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gateway.capacity.demand import Demand, count_of
from gateway.commands.audit import audited
from gateway.commands.cli_options import SPACE, STATE, Space, StateFolder
from gateway.commands.cli_options import errors_without_traceback as _errors_without_traceback
from gateway.commands.logs import LogFormat, set_up_logging
from gateway.commands.space_cli import app as space_app
from gateway.commands.webhooks_cli import app as webhooks_app
from gateway.version import VERSION
from graph.edge import MAX_USER_ID, UserId
from storage.postgres.citus.placement import SHARDS
from storage.postgres.load.load_report import OnBad
from storage.space import checked_space

app = typer.Typer(
    help="Kith: a GraphQL gateway over a social graph.\n\n"
    "The servers are those in DATABASE_URL and REDIS_URL, or those of a running `dev`."
    " docs/settings.md lists all settings.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Port = Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Log = Annotated[LogFormat, typer.Option("--log-format", help="The format of log lines.")]

_DEMAND = Demand()


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


@app.command()
def dev(
    port: Port = 8000,
    state: StateFolder = STATE,
    space: Space = SPACE,
    host: Host = "127.0.0.1",
    bundle: Annotated[
        bool,
        typer.Option(
            "--bundle/--no-bundle", help="Bundle the playground with npm in the background."
        ),
    ] = True,
) -> None:
    """Start everything on this machine: servers, sample graph, gateway, worker. Ctrl-C stops it."""
    typer.echo("Starting Kith on this machine; Ctrl-C stops it.")
    from gateway.commands.dev import run

    with _errors_without_traceback():
        asyncio.run(run(host, port, state, space, bundle=bundle))


@app.command()
def serve(
    context: typer.Context,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    uds: Annotated[
        Path | None,
        typer.Option(help="A unix socket to listen on, instead of a host and a port."),
    ] = None,
    uds_mode: Annotated[
        str,
        typer.Option(
            help="The socket's permissions in octal. Connecting requires write permission."
        ),
    ] = "660",
    workers: Annotated[
        int, typer.Option(help="The number of processes, one per core.", min=1, max=256)
    ] = 1,
    log_format: Log = LogFormat.TEXT,
    state: StateFolder = STATE,
    space: Space = SPACE,
    trusted_documents: Annotated[
        Path | None,
        typer.Option(help="A manifest or a folder of manifests: reject all other documents."),
    ] = None,
    development: Annotated[bool, typer.Option("--development", hidden=True)] = False,
) -> None:
    """Run a gateway. It needs KITH_JWT_SECRET, KITH_JWKS_URL or a file of public keys."""
    from gateway.http.addresses import TcpAddress, UnixAddress
    from gateway.server.listening import permissions
    from gateway.server.serve import run
    from gateway.settings.config import log_level, read_config

    with _errors_without_traceback(log_format):
        if uds is not None and _is_given(context, "host", "port"):
            raise ValueError("--uds replaces --host and --port: give one or the other.")
        address = TcpAddress(host, port) if uds is None else UnixAddress(uds, permissions(uds_mode))
        set_up_logging(log_format, log_level())
        configured = partial(
            read_config,
            state,
            space,
            development=development,
            trusted_documents=trusted_documents,
        )
        _exit(run(configured, address, workers))


@app.command()
def worker(
    state: StateFolder = STATE, space: Space = SPACE, log_format: Log = LogFormat.TEXT
) -> None:
    """Run one worker process. It waits while a server is unavailable, except Redis at its start."""
    from gateway.commands.worker_config import job_settings, worker_spaces
    from gateway.settings.config import log_level, read_config
    from workers.process import run

    with _errors_without_traceback(log_format):
        config = read_config(state, space)
        set_up_logging(log_format, log_level())
        logging.getLogger("arq.worker").setLevel(logging.WARNING)
        spaces = worker_spaces(config) if config.spaces.names else None
        has_traces = config.monitoring.has_traces
        run(job_settings(config), config.metrics_port, spaces=spaces, has_traces=has_traces)


@app.command()
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

    with _errors_without_traceback(), audited("migrate", space=space):
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


@app.command()
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

    with _errors_without_traceback(), audited("load", space=space, file=str(file)):
        _exit(asyncio.run(run(read_config(state, space), file, on_bad)))


@app.command()
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

    with _errors_without_traceback(), audited("export", space=space, file=str(file)):
        if file is None:
            raise ValueError("Name a file, or a user with --subject.")
        selection = selected(part, since, until, all_kinds=all_kinds or file.suffix == ".parquet")
        asyncio.run(run(read_config(state, space), file, selection, with_kinds=all_kinds))


def _export_account(
    context: typer.Context, subject: int, file: Path | None, state: Path, space: str
) -> None:
    from gateway.services.account_export import run
    from gateway.settings.config import read_config

    with _errors_without_traceback(), audited("export", space=space, target=subject):
        if _is_given(context, "all_kinds", "since", "until", "part"):
            raise ValueError("--subject has no other options of export than a file.")
        asyncio.run(run(read_config(state, space), UserId(subject), file))


@app.command()
def verify(
    state: StateFolder = STATE,
    space: Space = SPACE,
    repair: Annotated[bool, typer.Option("--repair", help="Correct the drift.")] = False,
    examples: Annotated[
        int, typer.Option(help="The number of examples for each kind of drift.", min=0)
    ] = 5,
) -> None:
    """Check that forward and reverse rows, counts and caches agree. Exits with 1 if they do not."""
    from gateway.commands.verify import run
    from gateway.settings.config import read_config

    audit = audited("verify --repair", space=space) if repair else nullcontext()
    with _errors_without_traceback(), audit:
        _exit(asyncio.run(run(read_config(state, space), repair=repair, examples=examples)))


@app.command()
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
    audit = audited("lanes --set", space=space, lanes=wanted) if changes else nullcontext()
    with _errors_without_traceback(), audit:
        storage = read_config(state, space).storage
        if wanted is not None:
            if wanted.bit_count() != 1 or not LANES <= wanted <= LANES_MAX:
                raise ValueError(f"--set must be 8, 16, 32, 64, 128 or 256, got {wanted}.")
            asyncio.run(set_lanes(storage, wanted))
        typer.echo(f"{space}: {asyncio.run(count_lanes(storage))} lanes")


app.add_typer(space_app, name="space")
app.add_typer(webhooks_app, name="webhooks")

outbox = typer.Typer(
    help="List, retry or drop the failed changes: those that workers could not apply.",
    no_args_is_help=True,
)
app.add_typer(outbox, name="outbox")

ChangeIds = Annotated[
    list[int] | None, typer.Argument(metavar="ID...", help="Ids of changes, as `list` shows them.")
]


@outbox.command("list")
def outbox_list(
    state: StateFolder = STATE,
    space: Space = SPACE,
    most: Annotated[int, typer.Option("--most", help="How many are shown.", min=1)] = 100,
) -> None:
    """List the failed changes with their errors."""
    from gateway.commands.outbox import show
    from gateway.settings.config import read_config

    with _errors_without_traceback():
        asyncio.run(show(read_config(state, space), most))


@outbox.command("retry")
def outbox_retry(
    ids: ChangeIds = None,
    every: Annotated[bool, typer.Option("--all", help="All failed changes.")] = False,
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Let the workers apply failed changes again. Exits with 1 if an id is no failed change."""
    from gateway.commands.outbox import retry
    from gateway.settings.config import read_config

    shown = "all" if every else ids
    with _errors_without_traceback(), audited("outbox retry", space=space, changes=shown):
        if bool(ids) == every:
            raise ValueError("Give ids of failed changes, or --all.")
        _exit(asyncio.run(retry(read_config(state, space), None if every else ids)))


@outbox.command("drop")
def outbox_drop(
    ids: Annotated[
        list[int], typer.Argument(metavar="ID...", help="Ids of changes, as `list` shows them.")
    ],
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Delete failed changes. `verify --repair` then copies the edges that they were about."""
    from gateway.commands.outbox import drop
    from gateway.settings.config import read_config

    with _errors_without_traceback(), audited("outbox drop", space=space, changes=ids):
        _exit(asyncio.run(drop(read_config(state, space), ids)))


shards = typer.Typer(
    help="Show the shards of a space on Citus, or give a user one of their own.",
    invoke_without_command=True,
)
app.add_typer(shards, name="shards")


@shards.callback()
def shards_show(
    context: typer.Context,
    state: StateFolder = STATE,
    space: Space = SPACE,
    most: Annotated[
        int, typer.Option("--most", help="How many shard groups are shown.", min=0)
    ] = 10,
    whales: Annotated[
        int,
        typer.Option(
            "--whales", help="Show so many users with the most edges. Reads all counts.", min=0
        ),
    ] = 0,
) -> None:
    """Show the machines, and the largest groups of shards with their rows and bytes."""
    if context.invoked_subcommand is not None:
        return
    from gateway.commands.shards import show
    from gateway.settings.config import read_config

    with _errors_without_traceback():
        asyncio.run(show(read_config(state, space), most, whales))


@shards.command("isolate")
def shards_isolate(
    user: Annotated[int, typer.Argument(metavar="USER", min=1, max=MAX_USER_ID)],
    state: StateFolder = STATE,
    space: Space = SPACE,
) -> None:
    """Move a user's rows into shards of their own, at the coordinator. Safe while in use."""
    from gateway.commands.shards import isolate
    from gateway.settings.config import read_config

    with _errors_without_traceback(), audited("shards isolate", space=space, target=user):
        asyncio.run(isolate(read_config(state, space), UserId(user)))


@app.command()
def capacity(
    edges: Annotated[
        int, typer.Option(parser=count_of, metavar="NUMBER", help="Edges, such as 5e9.")
    ] = _DEMAND.edges,
    writes: Annotated[
        int, typer.Option(parser=count_of, metavar="NUMBER", help="Changes a second.")
    ] = _DEMAND.writes,
    lists: Annotated[
        int, typer.Option(parser=count_of, metavar="NUMBER", help="Pages of 20 a second.")
    ] = _DEMAND.lists,
    checks: Annotated[
        int, typer.Option(parser=count_of, metavar="NUMBER", help="Relation checks a second.")
    ] = _DEMAND.checks,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Change an assumption. May be repeated."),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option("--from", help="Your own measured figures, as `bench.measured` writes them."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan machines, disks and networks for a demand. Every figure names its sources."""
    from gateway.capacity.report import run

    with _errors_without_traceback():
        run(Demand(edges, writes, lists, checks), assume or (), measured, as_json=as_json)


@app.command()
def token(
    user_id: Annotated[
        int | None,
        typer.Argument(help="The viewer's id. A service may omit it.", min=1, max=MAX_USER_ID),
    ] = None,
    scope: Annotated[str, typer.Option(help="Scopes, separated by spaces: `service`.")] = "",
    ttl: Annotated[int, typer.Option(help="Seconds until it expires.", min=1)] = 86_400,
    space: Annotated[
        str, typer.Option("--space", help="The space that it names, if claims name spaces.")
    ] = SPACE,
) -> None:
    """Print a token for `dev`, or for a gateway with the same KITH_JWT_SECRET."""
    from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
    from gateway.settings.token_config import signing, space_claim

    with _errors_without_traceback():
        secret, settings = signing()
        service = settings.claims.service_scope
        if user_id is None and service not in scope.split():
            raise ValueError(f"USER_ID is missing. Name a user id, or use `--scope {service}`.")
        # The secret of `dev` is public, so its tokens give nothing to anybody.
        real = secret != DEVELOPMENT_SECRET
        fields = {"target": user_id, "scopes": scope, "ttl_s": ttl}
        with audited("token", **fields) if real else nullcontext():
            claim = None if space == SPACE else (space_claim(), checked_space(space))
            typer.echo(mint(secret, user_id, scope, ttl, settings, claim))


@app.command()
def sdl() -> None:
    """Print the GraphQL schema, the same text as schema/schema.graphql."""
    from schema.schema import sdl as printed

    sys.stdout.write(printed())


def _is_given(context: typer.Context, *names: str) -> bool:
    """Whether one of the options was given on the command line."""
    sources = [context.get_parameter_source(name) for name in names]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)


def _exit(code: int) -> None:
    if code:
        raise typer.Exit(code)
