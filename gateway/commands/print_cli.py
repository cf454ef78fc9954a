"""The commands that print a plan of capacity, a token or the schema, with their help."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from gateway.capacity.demand import Demand, count_of
from gateway.commands.audit import audited_command
from gateway.commands.cli_options import SPACE, errors_without_traceback
from graph.edge import MAX_USER_ID
from storage.space import checked_space

_DEMAND = Demand()


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

    with errors_without_traceback():
        run(Demand(edges, writes, lists, checks), assume or (), measured, as_json=as_json)


TTL_MAX_S = 10 * 365 * 86_400
"""Ten years."""


def token(
    user_id: Annotated[
        int | None,
        typer.Argument(help="The viewer's id. A service may omit it.", min=1, max=MAX_USER_ID),
    ] = None,
    scope: Annotated[str, typer.Option(help="Scopes, separated by spaces: `service`.")] = "",
    ttl: Annotated[
        int, typer.Option(help="Seconds until it expires.", min=1, max=TTL_MAX_S)
    ] = 86_400,
    space: Annotated[
        str, typer.Option("--space", help="The space that it names, if claims name spaces.")
    ] = SPACE,
) -> None:
    """Print a token for `dev`, or for a gateway with the same KITH_JWT_SECRET."""
    from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
    from gateway.settings.token_config import signing, space_claim

    with errors_without_traceback():
        secret, settings = signing()
        service = settings.claims.service_scope
        if user_id is None and service not in scope.split():
            raise ValueError(f"USER_ID is missing. Name a user id, or use `--scope {service}`.")
        # The secret of `dev` is public, so its tokens give nothing to anybody.
        real = secret != DEVELOPMENT_SECRET
        fields = {"target": user_id, "scopes": scope, "ttl_s": ttl}
        with audited_command("token", **fields) if real else nullcontext():
            claim = None if space == SPACE else (space_claim(), checked_space(space))
            typer.echo(mint(secret, user_id, scope, ttl, settings, claim))


def sdl() -> None:
    """Print the GraphQL schema, the same text as schema/schema.graphql."""
    from schema.schema import sdl as printed

    sys.stdout.write(printed())
