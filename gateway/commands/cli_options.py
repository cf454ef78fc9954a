"""Options that several commands have, and how commands end."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from devstack.errors import DevstackError
from gateway.commands.logs import LogFormat, set_up_logging
from gateway.server.garbage import collect_after_imports
from graph.errors import KithError

StateFolder = Annotated[
    Path, typer.Option("--state", help="The state folder of `dev`, with its servers' data.")
]
Space = Annotated[
    str,
    typer.Option(
        "--space",
        help="The graph to use: each space has its own PostgreSQL schema, key prefix and queue.",
    ),
]

STATE = Path(".kith")
SPACE = "public"

ID_MAX = 2**63 - 1
"""Ids of rows are `bigint` in PostgreSQL."""
SHOWN_MAX = 10_000
"""The greatest number of rows that a command shows."""


@contextmanager
def errors_without_traceback(log_format: LogFormat = LogFormat.TEXT) -> Iterator[None]:
    """Run a command, after its imports. Print user errors as one sentence without a traceback, and
    exit with 2."""
    collect_after_imports()
    try:
        yield
    except (DevstackError, KithError, ValueError) as error:
        cause = str(error.__cause__ or "")
        text = f"{error}" if cause in str(error) else f"{error} ({cause})"
        if log_format is LogFormat.JSON:
            set_up_logging(log_format)
            logging.getLogger("gateway").critical(text)
        else:
            typer.echo(f"kith: {text}", err=True)
        raise typer.Exit(2) from None


def is_given(context: typer.Context, *names: str) -> bool:
    """Whether one of the options was given on the command line."""
    sources = [context.get_parameter_source(name) for name in names]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)


def exit_with(code: int) -> None:
    """End the command with this exit code. 0: return, so that the caller ends as usual."""
    if code:
        raise typer.Exit(code)
