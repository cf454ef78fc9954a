"""`kith webhooks …`: manages the endpoints of webhooks and their deliveries."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import typer

from gateway.settings.config import Config
from graph.webhook import (
    ENDPOINTS_MAX,
    DeliveryState,
    EndpointState,
    checked_name,
    types_named,
    webhook_type,
)
from storage.postgres.connection.pool import Postgres
from storage.postgres.webhook_deliveries import LoggedDelivery, WebhookDeliveries
from storage.postgres.webhook_endpoints import Endpoint, EndpointBacklog, WebhookEndpoints
from storage.store_groups import Webhooks
from storage.webhook_secrets import SecretBox, new_secret
from workers.webhook_addresses import AddressRejected, AddressRules
from workers.webhook_client import WebhookClient, check_url
from workers.webhook_requests import headers_of, trial

FAILED = 1
"""The exit code if a delivery cannot be replayed, or a test event was not accepted."""
REPLAYED_MAX = 100_000
"""The deliveries that one `replay` finds, or that one `remove` deletes at once."""
REPLAY_BATCH = 1_000
HOUR_S = 3_600


@asynccontextmanager
async def _open_webhooks(config: Config) -> AsyncIterator[Webhooks]:
    postgres = Postgres(config.storage)
    try:
        yield Webhooks(WebhookEndpoints(postgres), WebhookDeliveries(postgres))
    finally:
        await postgres.close()


async def add(config: Config, name: str, url: str, types: Sequence[str]) -> None:
    """Add an endpoint, and print its secret.

    Raises:
        ValueError: the name, the URL or a type is wrong, or there are too many endpoints.
        Unavailable: PostgreSQL cannot be reached.
    """
    checked_name(name)
    chosen = types_named(types)
    check_url(url, allows_http=config.webhooks.allows_http)
    await _check_addresses(config, url)
    box, secret = _secret_box(config), new_secret()
    async with _open_webhooks(config) as webhooks:
        if not await webhooks.endpoints.add(name, url, chosen, box.encrypted(secret)):
            if name in await webhooks.endpoints.all():
                raise ValueError(f"There is an endpoint {name} already.")
            raise ValueError(f"A space has at most {ENDPOINTS_MAX} endpoints.")
    typer.echo(f"{name}: added\nIts secret, which is not shown again: {secret}")


async def show(config: Config) -> None:
    """Print the endpoints. Raises Unavailable."""
    async with _open_webhooks(config) as webhooks:
        endpoints = await webhooks.endpoints.all()
        backlogs = await webhooks.endpoints.backlogs()
    for name, endpoint in endpoints.items():
        if name in backlogs:
            typer.echo(_line(endpoint, backlogs[name]))
    if not endpoints:
        typer.echo("No endpoints.")


async def rotate(config: Config, name: str, overlap_hours: int) -> None:
    """Give an endpoint a new secret, and print it.

    Raises:
        ValueError: there is no such endpoint.
        Unavailable: PostgreSQL cannot be reached.
    """
    box, secret = _secret_box(config), new_secret()
    async with _open_webhooks(config) as webhooks:
        overlap_s = overlap_hours * HOUR_S
        _require_endpoint(
            await webhooks.endpoints.rotate(name, box.encrypted(secret), overlap_s), name
        )
    typer.echo(f"{name}: the previous secret signs as well for {overlap_hours} h")
    typer.echo(f"Its new secret, which is not shown again: {secret}")


async def pause(config: Config, name: str) -> None:
    """Pause an endpoint. Raises as `rotate`."""
    async with _open_webhooks(config) as webhooks:
        _require_endpoint(await webhooks.endpoints.set_state(name, EndpointState.PAUSED), name)
    typer.echo(f"{name}: paused")


async def resume(config: Config, name: str) -> None:
    """Resume an endpoint. Raises as `rotate`."""
    async with _open_webhooks(config) as webhooks:
        _require_endpoint(await webhooks.endpoints.set_state(name, EndpointState.ACTIVE), name)
    typer.echo(f"{name}: active")


async def remove(config: Config, name: str) -> None:
    """Delete an endpoint and its deliveries: `REPLAYED_MAX` of them now, the others are left to the
    workers. Raises as `rotate`."""
    async with _open_webhooks(config) as webhooks:
        _require_endpoint(await webhooks.endpoints.remove(name), name)
        await webhooks.deliveries.purge_orphans(REPLAYED_MAX)
    typer.echo(f"{name}: removed")


async def show_log(config: Config, name: str, only: str, limit: int) -> None:
    """Print the newest deliveries of an endpoint, of one state if `only` names it.

    Raises:
        ValueError: there is no such endpoint or state.
        Unavailable: PostgreSQL cannot be reached.
    """
    state = _state_named(only) if only else None
    async with _open_webhooks(config) as webhooks:
        _require_endpoint(name in await webhooks.endpoints.all(), name)
        deliveries = await webhooks.deliveries.log(name, state, limit)
    for delivery in deliveries:
        typer.echo(_log_line(delivery))
    typer.echo(f"{len(deliveries):,} deliveries.")


async def replay(
    config: Config, name: str, ids: Sequence[int] | None, delivered_hours: int | None
) -> int:
    """Send deliveries once more: those of `ids`, else those that were delivered in the last
    `delivered_hours`, else those that are parked. Without `ids`, `REPLAYED_MAX` at most. Return the
    exit code: 1 if one of `ids` cannot be replayed.

    Raises as `rotate`.
    """
    async with _open_webhooks(config) as webhooks:
        _require_endpoint(name in await webhooks.endpoints.all(), name)
        chosen = ids or await _replayable(config, webhooks, name, delivered_hours)
        replayed: set[int] = set()
        for at in range(0, len(chosen), REPLAY_BATCH):
            batch = chosen[at : at + REPLAY_BATCH]
            replayed.update(await webhooks.deliveries.replay(name, batch))
    typer.echo(f"{len(replayed):,} deliveries are queued again.")
    if len(chosen) == REPLAYED_MAX:
        typer.echo("There may be more. Repeat the command.")
    missing = sorted(set(ids or ()) - replayed)
    for number in missing:
        typer.echo(f"{number} is not a delivered or parked delivery.", err=True)
    return FAILED if missing else 0


async def _replayable(
    config: Config, webhooks: Webhooks, name: str, delivered_hours: int | None
) -> Sequence[int]:
    """The deliveries that `replay` sends without ids."""
    if delivered_hours is None:
        state, since_s = DeliveryState.PARKED, config.webhooks.times.kept_s
    else:
        state, since_s = DeliveryState.DELIVERED, delivered_hours * HOUR_S
    return await webhooks.deliveries.replayable(name, state, since_s, REPLAYED_MAX)


async def send_test(config: Config, name: str) -> int:
    """Send an event of the type TEST. Return the exit code: 1 if it was not accepted.

    Raises as `rotate`.
    """
    async with _open_webhooks(config) as webhooks:
        endpoint = (await webhooks.endpoints.all()).get(name)
    if endpoint is None:
        raise _unknown_endpoint(name)
    box = _secret_box(config)
    secrets = [box.decrypted(secret) for secret in endpoint.secrets]
    message = trial(str(uuid4()), config.storage.space)
    headers = headers_of(message, urlsplit(endpoint.url).netloc, secrets, int(time.time()), 1)
    async with WebhookClient(config.webhooks, 1) as client:
        response = await client.post(endpoint.url, headers, message.body)
    typer.echo(f"{name}: {response.error or f'HTTP {response.status}'}, {response.took_ms} ms")
    return 0 if response.succeeded else FAILED


async def _check_addresses(config: Config, url: str) -> None:
    """Raise ValueError if the URL's host has an address that is not allowed. Only print a message
    if the host cannot be resolved: the workers may be able to."""
    parts = urlsplit(url)
    rules = AddressRules(config.webhooks.networks)
    try:
        await rules.resolve(parts.hostname or "", parts.port or 443)
    except AddressRejected as error:
        raise ValueError(str(error)) from None
    except OSError:
        typer.echo(f"{parts.hostname} cannot be resolved here.", err=True)


def _secret_box(config: Config) -> SecretBox:
    if not config.webhooks.encryption_keys:
        raise ValueError(
            "KITH_WEBHOOKS_ENCRYPTION_KEYS is not set. `openssl rand -hex 32` prints a key; give"
            " it to the workers, too."
        )
    return SecretBox(config.webhooks.encryption_keys)


def _require_endpoint(exists: bool, name: str) -> None:
    if not exists:
        raise _unknown_endpoint(name)


def _unknown_endpoint(name: str) -> ValueError:
    return ValueError(f"There is no endpoint {name[:60]!r}. `kith webhooks list` shows all.")


def _state_named(text: str) -> DeliveryState:
    try:
        return DeliveryState[text.upper()]
    except KeyError:
        raise ValueError(
            f"--only must be waiting, delivered or parked, got {text[:60]!r}."
        ) from None


def _line(endpoint: Endpoint, backlog: EndpointBacklog) -> str:
    types = (
        "all types"
        if endpoint.types == types_named(())
        else ", ".join(sorted(one.name for one in endpoint.types))
    )
    parts = [
        f"{endpoint.name}: {endpoint.state.name.lower()}, {endpoint.url}, {types}",
        f"{backlog.waiting:,} waiting, the oldest for {backlog.oldest_s:.0f} s",
        f"{backlog.parked:,} parked",
    ]
    if endpoint.reason is not None:
        parts.append(endpoint.reason)
    elif endpoint.failing_since is not None:
        since = f"{endpoint.failing_since:%Y-%m-%d %H:%M:%S} UTC"
        parts.append(f"failing since {since}: {endpoint.last_error}")
    return "; ".join(parts)


def _log_line(delivery: LoggedDelivery) -> str:
    event = delivery.event
    event_type = webhook_type(event)
    at = f"{delivery.finished_at or delivery.queued_at:%Y-%m-%dT%H:%M:%SZ}"
    result = delivery.error or (f"HTTP {delivery.status}" if delivery.status else "not tried yet")
    name = "other" if event_type is None else event_type.value
    return (
        f"{delivery.id}  {at}  {delivery.state.name.lower()}  {name}  {event.id}"
        f"  {delivery.attempts} attempts  {result}"
    )
