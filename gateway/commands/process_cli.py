"""The commands `kith dev`, `serve` and `worker`, which run processes, with their help."""

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gateway.commands.cli_options import (
    SPACE,
    STATE,
    Space,
    StateFolder,
    errors_without_traceback,
    exit_with,
    is_given,
)
from gateway.commands.logs import LogFormat, set_up_logging

Port = Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Log = Annotated[LogFormat, typer.Option("--log-format", help="The format of log lines.")]


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

    with errors_without_traceback():
        asyncio.run(run(host, port, state, space, bundle=bundle))


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

    with errors_without_traceback(log_format):
        if uds is not None and is_given(context, "host", "port"):
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
        exit_with(run(configured, address, workers))


def worker(
    state: StateFolder = STATE, space: Space = SPACE, log_format: Log = LogFormat.TEXT
) -> None:
    """Run one worker process. It waits while a server is unavailable, except Redis at its start."""
    from gateway.commands.worker_config import job_settings, worker_spaces
    from gateway.settings.config import log_level, read_config
    from workers.process import run

    with errors_without_traceback(log_format):
        config = read_config(state, space)
        set_up_logging(log_format, log_level())
        logging.getLogger("arq.worker").setLevel(logging.WARNING)
        spaces = worker_spaces(config) if config.spaces.names else None
        has_traces = config.monitoring.has_traces
        run(job_settings(config), config.metrics_port, spaces=spaces, has_traces=has_traces)
