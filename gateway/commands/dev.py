"""`dev`: starts everything on this machine, and prints three example queries."""

import asyncio
import http.client
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson
import typer

from devstack.child import Command
from devstack.servers import Servers, running_servers, until_signalled
from devstack.state import State, announce, find_running
from gateway.commands.program import ARGV, program
from gateway.commands.steps import Steps
from gateway.http.addresses import TcpAddress
from gateway.sample import load_sample
from gateway.server.listening import bound_sockets
from gateway.settings.config import read_config
from gateway.settings.environment import ConfigurationError, child_environment
from gateway.settings.server_config import server_urls
from storage.postgres.migrate import migrate
from storage.space import checked_space

QUERIES = (
    '{ user(id: "1") { followingCount followerCount friends(first: 3) { nodes { id } } } }',
    '{ viewer { user { relationWith(ids: ["2", "3", "399"]) { to { id } state } } } }',
    'mutation { followUser(input: {userId: "399"}) { outcome user { followerCount } } }',
)
"""Example queries. The header `X-Viewer`, accepted only in `dev`, names the viewer."""


async def run(host: str, port: int, folder: Path, space: str, *, bundle: bool) -> None:
    """Run until a stop signal. If another `dev` runs in `folder`, only print where.

    `bundle`: bundle the playground in the background.

    Raises:
        DevstackError, ConfigurationError, ValueError: it cannot start; the text says why.
    """
    state = State(folder)
    if running := find_running(state):
        typer.echo(f"Kith runs already in {state.folder}: {running.gateway_url or 'starting'}")
        return
    checked_space(space)
    address = TcpAddress(host, port)
    _must_be_free(address)
    database_url, redis_url = server_urls()
    steps = Steps()
    with until_signalled():
        async with running_servers(
            state,
            database_url=database_url,
            redis_url=redis_url,
            say=steps.say,
            progress=steps.step,
            extra_commands=[_bundling()] if bundle else [],
        ) as servers:
            with steps.step("Migrating the tables"):
                await migrate(servers.database_url, space)
            environment = _environment(servers)
            config = read_config(folder, space, development=True, environ=environment)
            with steps.step("Loading the sample graph, unless there is a graph"):
                await load_sample(config, state.folder)
            with steps.step("Starting a worker and a gateway"):
                await _start(servers, environment, address, space)
            typer.echo(welcome(f"http://{address.shown}", steps.elapsed_s))
            await servers.supervisor.watch()


def _bundling() -> Command:
    """The command that bundles the playground in the background."""
    argv = (sys.executable, "-m", "gateway.bundling")
    env = child_environment({"PYTHONUNBUFFERED": "1"})
    return Command("playground", argv, env=env, restart=False)


def _environment(servers: Servers) -> dict[str, str]:
    return child_environment(
        {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            "PYTHONUNBUFFERED": "1",
        }
    )


async def _start(
    servers: Servers, environment: Mapping[str, str], address: TcpAddress, space: str
) -> None:
    """Start a worker and a gateway, and make the gateway's URL known when it is ready."""

    async def is_ready(_: int) -> bool:
        return await asyncio.to_thread(_is_ready, address.host, address.port)

    worker = (*ARGV, "worker", "--space", space)
    gateway = (*ARGV, "serve", "--development", "--space", space)
    await servers.supervisor.start(Command("worker", worker, env=environment))
    await servers.supervisor.start(
        Command(
            "gateway",
            (*gateway, "--host", address.host, "--port", str(address.port)),
            env=environment,
            is_ready=is_ready,
        )
    )
    url = f"http://{address.shown}"
    announce(servers.state, servers.database_url, servers.redis_url, url)


def welcome(url: str, elapsed_s: float) -> str:
    """The text that `dev` prints when everything is ready."""
    lines = [
        "",
        f"Kith is ready after {elapsed_s:.1f} s. The playground: {url}/graphql",
        "Three queries to try:",
        "",
        *(f"  {curl(url, query)}" for query in QUERIES),
        "",
        f"{program()} token 42                 # prints a token for user 42",
        f"{program()} token --scope service    # prints one for a service",
        "",
        "Ctrl-C stops everything.",
        "",
    ]
    return "\n".join(lines)


def curl(url: str, query: str) -> str:
    """A query as a shell command."""
    body = orjson.dumps({"query": query}).decode()
    return (
        f"curl -s {url}/graphql -H 'X-Viewer: 1' -H 'Content-Type: application/json' "
        f"-d {shlex.quote(body)}"
    )


def _is_ready(host: str, port: int) -> bool:
    """Whether the gateway answers /readyz with 200."""
    # urllib would use a proxy from the environment even for this machine.
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _must_be_free(address: TcpAddress) -> None:
    try:
        with bound_sockets(address):
            return
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} With make: `make dev PORT=…`.") from None
