"""The command line: one function a command, each with its help. Does no work itself."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gateway.config import ConfigurationError, database_url, read_config, signing_secret
from gateway.embedded.errors import EmbeddedError
from graph.edge import MAX_USER_ID
from graph.errors import KithError
from storage.postgres.bulk_load import OnBad
from storage.space import checked_space

app = typer.Typer(
    help="Kith: a GraphQL gateway over a social graph.\n\n"
    "Servers are found in DATABASE_URL and REDIS_URL, or through the state folder of a running "
    "`dev`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

StateFolder = Annotated[
    Path, typer.Option("--state", help="The folder in which `dev` keeps its servers.")
]
Space = Annotated[
    str,
    typer.Option(
        "--space",
        help="Whose graph: each space has a PostgreSQL schema, a key prefix and a queue.",
    ),
]
Port = Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)]
Host = Annotated[str, typer.Option(help="The address to listen on.")]

STATE = Path(".kith")
SPACE = "public"


@app.command()
def dev(
    port: Port = 8000, state: StateFolder = STATE, space: Space = SPACE, host: Host = "127.0.0.1"
) -> None:
    """Start everything on this machine: servers, sample graph, gateway, worker. Ctrl-C stops it."""
    from gateway.dev import run

    with _said_plainly():
        asyncio.run(run(host, port, state, space))


@app.command()
def serve(
    port: Port = 8000,
    host: Host = "127.0.0.1",
    state: StateFolder = STATE,
    space: Space = SPACE,
    trusted_documents: Annotated[
        Path | None,
        typer.Option(help="A manifest, or a folder of them: run their documents, and no others."),
    ] = None,
    development: Annotated[bool, typer.Option("--development", hidden=True)] = False,
) -> None:
    """Run one gateway process. It needs KITH_JWT_SECRET, …_PUBLIC_KEY_FILE or KITH_JWKS_FILE."""
    from gateway.serve import run

    with _said_plainly():
        config = read_config(
            state, space, development=development, trusted_documents=trusted_documents
        )
        run(config, host, port)


@app.command()
def worker(state: StateFolder = STATE, space: Space = SPACE) -> None:
    """Run one worker process. It ends when Redis goes away; keep it under a supervisor."""
    from workers.main import run

    with _said_plainly():
        config = read_config(state, space)
        _log()
        run(config.storage, config.limits.undo_s, config.metrics_port)


@app.command()
def migrate(
    state: StateFolder = STATE,
    space: Space = SPACE,
    partitions: Annotated[
        int, typer.Option(help="Hash partitions a table; fixed by the first migration.", min=1)
    ] = 16,
) -> None:
    """Bring the space's tables to the newest form. Safe to repeat, and to run from many places."""
    from storage.postgres.migrate import migrate as apply

    with _said_plainly():
        checked_space(space)
        applied = asyncio.run(apply(database_url(state), space, partitions))
        typer.echo(f"{space}: applied {', '.join(applied)}" if applied else f"{space}: up to date")


@app.command()
def load(
    file: Annotated[
        Path, typer.Argument(help="from_user_id,to_user_id[,created_at_ms] as .csv, .gz or .zst")
    ],
    state: StateFolder = STATE,
    space: Space = SPACE,
    on_bad: Annotated[
        OnBad, typer.Option(help="Bad lines: report and skip them, or refuse the whole file.")
    ] = OnBad.SKIP,
) -> None:
    """Load a file of edges. Safe to repeat; what was interrupted goes on where it was."""
    from gateway.load import run

    with _said_plainly():
        _exit(asyncio.run(run(read_config(state, space), file, on_bad)))


@app.command()
def verify(
    state: StateFolder = STATE,
    space: Space = SPACE,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what is found.")] = False,
    examples: Annotated[int, typer.Option(help="Examples of each kind of drift.", min=0)] = 5,
) -> None:
    """Prove that forward = reverse, counts = rows, caches = rows. Exits with 1 if not."""
    from gateway.verify import run

    with _said_plainly():
        _exit(asyncio.run(run(read_config(state, space), repair=repair, examples=examples)))


@app.command()
def token(
    user_id: Annotated[
        int | None,
        typer.Argument(
            help="The viewer's id; a service may ask for nobody.", min=1, max=MAX_USER_ID
        ),
    ] = None,
    scope: Annotated[str, typer.Option(help="Scopes, separated by spaces: `service`.")] = "",
    ttl: Annotated[int, typer.Option(help="Seconds until it expires.", min=1)] = 86_400,
) -> None:
    """Print a token for `dev`, or for a gateway with the same KITH_JWT_SECRET."""
    from gateway.authentication import SERVICE, mint

    with _said_plainly():
        if user_id is None and SERVICE not in scope.split():
            raise ValueError("whose token? Name a user id, or `--scope service`.")
        typer.echo(mint(signing_secret(), user_id, scope, ttl))


@app.command()
def sdl() -> None:
    """Print the GraphQL schema, as schema/schema.graphql holds it."""
    from schema.schema import sdl as printed

    sys.stdout.write(printed())


def _log() -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("arq.worker").setLevel(logging.WARNING)


def _exit(code: int) -> None:
    if code:
        raise typer.Exit(code)


@contextmanager
def _said_plainly() -> Iterator[None]:
    """What a person can mend is told in a sentence, without a traceback."""
    try:
        yield
    except (ConfigurationError, EmbeddedError, KithError, ValueError) as error:
        cause = str(error.__cause__ or "")
        told = f"{error}" if cause in str(error) else f"{error} ({cause})"
        typer.echo(f"kith: {told}", err=True)
        raise typer.Exit(2) from None
