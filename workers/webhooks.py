"""Delivers the webhooks of one space. Each endpoint is claimed by one process at a time."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import monotonic
from uuid import uuid4

from graph.errors import Unavailable
from graph.webhook import EndpointState
from storage.postgres.webhook_endpoints import Endpoint
from storage.store_groups import Webhooks
from storage.stores import Stores
from workers.webhook_endpoint import EndpointSender
from workers.webhook_settings import WebhookSettings

log = logging.getLogger(__name__)

CLAIM_S = 1.0
"""Interval at which endpoints are read and claimed, so that changes of endpoints have an effect."""

LEASE_S = 10.0
"""How long a claim of an endpoint lasts. If the process is killed, no other process delivers to the
endpoint until then."""

LEASE_MARGIN_S = 2.0
"""Time before the end of a claim in which no request is begun."""

PARKED_MAX = 5_000
"""The most deliveries of one endpoint that are parked after each claim."""

STOP_S = 2.0
"""How long releasing the claims may take at the end."""


class WebhookSender:
    """Claims endpoints, and runs an `EndpointSender` for each."""

    def __init__(self, webhooks: Webhooks, settings: WebhookSettings, space: str) -> None:
        self._endpoints = webhooks.endpoints
        self._deliveries = webhooks.deliveries
        self._settings = settings
        self._space = space
        self._process = uuid4()
        self._claimed_until = 0.0
        self._senders: dict[str, tuple[EndpointSender, asyncio.Task[None]]] = {}
        self._has_warned = False

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            while True:
                try:
                    await self._claim()
                except Unavailable as error:
                    log.warning("the webhooks cannot be read: %s", error)
                except Exception:
                    log.exception("the webhooks of space %s are claimed again later", self._space)
                await asyncio.sleep(CLAIM_S)
        finally:
            await self._end_senders(list(self._senders))
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(STOP_S):
                    await self._endpoints.release(self._process)

    async def _claim(self) -> None:
        """Claim the active endpoints that no other process has claimed, and start, change and end
        their senders."""
        present = await self._endpoints.all()
        active = {
            name for name, endpoint in present.items() if endpoint.state is EndpointState.ACTIVE
        }
        if not self._can_sign(active):
            return
        began_at = monotonic()
        claimed = await self._endpoints.claim(self._process, LEASE_S) if active else set()
        self._claimed_until = began_at + LEASE_S - LEASE_MARGIN_S
        ended = [name for name, (_, task) in self._senders.items() if task.done()]
        await self._end_senders([*ended, *(self._senders.keys() - claimed)])
        for name in claimed & present.keys():
            self._start_or_change(present[name])
        for name in present:
            await self._park_overdue(present[name])

    def _can_sign(self, active: set[str]) -> bool:
        """Whether there are keys for the secrets of endpoints. If not, log once that nothing is
        delivered."""
        if active and not self._settings.encryption_keys and not self._has_warned:
            log.error(
                "%d webhooks are not delivered: KITH_WEBHOOKS_ENCRYPTION_KEYS is not set",
                len(active),
            )
            self._has_warned = True
        return bool(self._settings.encryption_keys)

    def _start_or_change(self, endpoint: Endpoint) -> None:
        if endpoint.name in self._senders:
            self._senders[endpoint.name][0].endpoint = endpoint
            return
        sender = EndpointSender(
            endpoint,
            self._endpoints,
            self._deliveries,
            self._settings,
            self._space,
            lambda: monotonic() < self._claimed_until,
        )
        self._senders[endpoint.name] = (sender, asyncio.create_task(sender.run()))

    async def _park_overdue(self, endpoint: Endpoint) -> None:
        """Park the waiting deliveries of a disabled endpoint, and deliveries that have waited too
        long for a failing endpoint."""
        name, retried_s = endpoint.name, self._settings.times.retried_s
        if endpoint.state is EndpointState.DISABLED:
            reason = "the endpoint is disabled"
            await self._deliveries.park_overdue(name, 0, reason, PARKED_MAX)
        elif endpoint.failing_s > retried_s and name in self._senders:
            reason = "the endpoint has failed for long"
            await self._deliveries.park_overdue(name, retried_s, reason, PARKED_MAX)

    async def _end_senders(self, names: list[str]) -> None:
        tasks = [self._senders.pop(name)[1] for name in dict.fromkeys(names)]
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("the sender of a webhook has failed", exc_info=result)


@asynccontextmanager
async def delivering(stores: Stores, settings: WebhookSettings, space: str) -> AsyncIterator[None]:
    """Deliver the webhooks of a space during the block, to endpoints that no other process has
    claimed."""
    sender = WebhookSender(stores.jobs.webhooks, settings, space)
    task = asyncio.create_task(sender.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def purge_webhooks(webhooks: Webhooks, kept_s: float, limit: int) -> int:
    """Delete deliveries that have ended more than `kept_s` ago, about `limit` at most for each
    endpoint. Returns how many.

    Raises:
        Unavailable: PostgreSQL cannot be reached.
    """
    deleted = 0
    for name, endpoint in (await webhooks.endpoints.all()).items():
        is_paused = endpoint.state is EndpointState.PAUSED
        deleted += await webhooks.deliveries.purge(name, kept_s, limit, is_paused=is_paused)
    return deleted + await webhooks.deliveries.purge_orphans(limit)
