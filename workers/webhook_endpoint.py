"""Delivers the events of one endpoint: in order for each target, several targets at a time."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from prometheus_client import Counter

from graph.edge import UserId
from graph.errors import Unavailable
from graph.webhook import DeliveryState, webhook_type
from storage.postgres.outbox import NO_USER
from storage.postgres.webhook_deliveries import Attempt, Delivery, DeliveryKey, WebhookDeliveries
from storage.postgres.webhook_endpoints import Endpoint, WebhookEndpoints
from storage.webhook_secrets import SecretBox, SecretUnreadable
from telemetry.histogram import Histogram
from workers.webhook_backoff import Backoff, jittered
from workers.webhook_client import Response, WebhookClient
from workers.webhook_requests import headers_of, message_of
from workers.webhook_settings import WebhookSettings

log = logging.getLogger(__name__)

REQUESTS_AT_ONCE = 16
"""Concurrent requests to one endpoint, at most one for each target."""

TARGETS_AT_ONCE = 100
"""Targets whose next deliveries are read by one statement."""

CHAIN_MAX = 10
"""Deliveries of one target that are sent one after the other and then recorded together. If the
process dies before, they are sent again."""

POLL_S = 0.2
"""Interval of the search for new deliveries."""

PAUSE_S = 1.0
"""Pause after PostgreSQL was unavailable, or after an unexpected error of a chain."""

STOP_S = 2.0
"""How long running requests may take when the process stops."""

_attempts = Counter(
    "kith_webhook_attempts",
    "Attempts to deliver an event to an endpoint, by result: delivered, failed, or parked, which"
    " is the last failure.",
    ["result"],
)
_durations = Histogram(
    "kith_webhook_attempt_duration_seconds", "Time that an attempt has taken."
).labels()

_RESULTS = {
    DeliveryState.DELIVERED: "delivered",
    DeliveryState.PARKED: "parked",
    DeliveryState.WAITING: "failed",
}


class EndpointSender:
    """Sends the deliveries of one endpoint. The caller replaces `endpoint` when it has changed.
    `is_claimed` returns whether this process may deliver now.

    A chain is a task that sends the next deliveries of one target in order.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        endpoints: WebhookEndpoints,
        deliveries: WebhookDeliveries,
        settings: WebhookSettings,
        space: str,
        is_claimed: Callable[[], bool],
    ) -> None:
        self.endpoint = endpoint
        self._endpoints = endpoints
        self._deliveries = deliveries
        self._settings = settings
        self._space = space
        self._is_claimed = is_claimed
        self._box = SecretBox(settings.encryption_keys)
        self._backoff = Backoff()
        self._chains: dict[UserId, asyncio.Task[None]] = {}
        self._after = NO_USER
        """The target whose deliveries were read last. The next search begins after it."""
        self._has_failed = False
        """Whether a failure was recorded since the last success, which `endpoint` may not show
        yet."""

    async def run(self) -> None:
        """Deliver until cancelled. Running requests then have `STOP_S`; after that they are
        cancelled, and another process sends them again."""
        async with WebhookClient(self._settings, REQUESTS_AT_ONCE) as client:
            try:
                while True:
                    try:
                        has_more = await self._begin_chains(client)
                        await self._pause(0 if has_more else POLL_S)
                    except Unavailable as error:
                        log.warning("webhook %s is retried later: %s", self.endpoint.name, error)
                        await asyncio.sleep(PAUSE_S)
            finally:
                await self._end_chains()

    async def _end_chains(self) -> None:
        """Let each chain complete and record its running request, without sending others."""
        self._is_claimed = lambda: False
        chains = list(self._chains.values())
        if chains:
            await asyncio.wait(chains, timeout=STOP_S)
        for chain in chains:
            chain.cancel()
        await asyncio.gather(*chains, return_exceptions=True)

    async def _pause(self, seconds: float) -> None:
        """Wait for some seconds, or until a chain ends, because its target may have more
        deliveries."""
        if self._chains:
            chains = self._chains.values()
            await asyncio.wait(chains, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(seconds)

    async def _begin_chains(self, client: WebhookClient) -> bool:
        """Begin chains for the next targets. Returns whether to look for more immediately."""
        free_slots = self._backoff.allowed(REQUESTS_AT_ONCE, len(self._chains))
        if free_slots <= 0 or not self._is_claimed():
            return False
        # Read before the statement: if a chain ends meanwhile, the statement may return deliveries
        # that the chain has sent.
        busy = set(self._chains)
        heads = await self._deliveries.heads(
            self.endpoint.name, self._after, TARGETS_AT_ONCE, CHAIN_MAX
        )
        for target, deliveries in heads.items():
            self._after = target
            if target in busy or not deliveries[0].is_due:
                continue
            self._chains[target] = asyncio.create_task(self._chain(client, target, deliveries))
            free_slots -= 1
            if free_slots == 0:
                return True
        is_end = len(heads) < TARGETS_AT_ONCE
        if is_end:
            self._after = NO_USER
        return not is_end

    async def _chain(
        self, client: WebhookClient, target: UserId, deliveries: Sequence[Delivery]
    ) -> None:
        """Send the deliveries of one target until one fails, then record the attempts."""
        sent: list[Attempt] = []
        unwanted: list[DeliveryKey] = []
        try:
            for delivery in deliveries:
                if webhook_type(delivery.event) not in self.endpoint.types:
                    unwanted.append(delivery.key)
                    continue
                if not self._is_claimed():
                    break
                sent.append(await self._attempt(client, delivery))
                if not sent[-1].succeeded:
                    break
            await self._record(sent, unwanted)
        except Unavailable as error:
            log.warning("%d deliveries are sent again: %s", len(sent), error)
            await asyncio.sleep(PAUSE_S)
        except Exception:
            log.exception("a delivery of webhook %s has failed", self.endpoint.name)
            await asyncio.sleep(PAUSE_S)
        finally:
            del self._chains[target]

    async def _attempt(self, client: WebhookClient, delivery: Delivery) -> Attempt:
        """Send one delivery once. A secret that cannot be decrypted is a failed attempt."""
        try:
            response = await self._post(client, delivery)
        except SecretUnreadable as error:
            response = Response(None, str(error), 0)
        self._backoff.record(succeeded=response.succeeded)
        _durations.observe(response.took_ms / 1000)
        times = self._settings.times
        doubled = times.retry_first_s * 2.0 ** min(delivery.attempts, 30)
        wait_s = jittered(min(times.retry_max_s, doubled))
        return Attempt(
            delivery.key,
            response.succeeded,
            response.status,
            response.error,
            response.took_ms,
            wait_s,
        )

    async def _post(self, client: WebhookClient, delivery: Delivery) -> Response:
        endpoint = self.endpoint
        message = message_of(delivery.event, self._space)
        secrets = [self._box.decrypted(secret) for secret in endpoint.secrets]
        host = urlsplit(endpoint.url).netloc
        headers = headers_of(message, host, secrets, int(time.time()), delivery.attempts + 1)
        return await client.post(endpoint.url, headers, message.body)

    async def _record(self, sent: Sequence[Attempt], unwanted: Sequence[DeliveryKey]) -> None:
        """Store the attempts of a chain, delete its unwanted deliveries, and record the success or
        failure of the endpoint."""
        name, times = self.endpoint.name, self._settings.times
        if unwanted:
            await self._deliveries.delete(name, unwanted)
        if not sent:
            return
        states = await self._deliveries.record(name, sent, times.retried_s)
        for state in states.values():
            _attempts.labels(_RESULTS[state]).inc()
        for key, state in states.items():
            if state is DeliveryState.PARKED:
                log.error("delivery %d of webhook %s was parked", key.id, name)
        is_failing = self._has_failed or self.endpoint.failing_since is not None
        if is_failing and any(attempt.succeeded for attempt in sent):
            self._has_failed = False
            await self._endpoints.record_success(name)
        # A process that no longer delivers does not know of the successes of the one that does.
        if (error := sent[-1].error) is not None and self._is_claimed():
            await self._record_failure(error)

    async def _record_failure(self, error: str) -> None:
        name, times = self.endpoint.name, self._settings.times
        self._has_failed = True
        if await self._endpoints.record_failure(name, error, times.disabled_s):
            log.error("webhook %s is disabled, because all deliveries have failed: %s", name, error)
