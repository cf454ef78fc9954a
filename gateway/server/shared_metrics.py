"""Metrics of a space that are read from PostgreSQL and Redis, by the process that is scraped.

They are equal for all processes.
"""

import time
from collections.abc import Iterator
from contextlib import suppress

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from graph.errors import Unavailable
from graph.lane import LANES_MAX, failed_lane, parked_lane
from graph.webhook import EndpointState
from storage.postgres.verification.drift import DriftKind
from storage.stores import Stores


class SharedMetrics(Collector):
    """The backlog, the queue, the absent accounts and the change feed, as of the last `update`.

    While PostgreSQL or Redis is unavailable, its metrics keep their last values.
    """

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self._postgres: list[Metric] = []
        self._redis: list[Metric] = []

    async def update(self) -> None:
        """Read the current values."""
        with suppress(Unavailable):
            found = [*await self._outbox(), await self._absent(), await self._lags()]
            self._postgres = [*found, *await self._verification(), *await self._webhooks()]
        with suppress(Unavailable):
            self._redis = [await self._queued(), await self._events()]

    def collect(self) -> Iterator[Metric]:
        yield from self._postgres
        yield from self._redis

    async def _outbox(self) -> list[Metric]:
        backlog = (await self.stores.jobs.lanes.progress.backlog()).lanes
        changes = GaugeMetricFamily(
            "kith_outbox_changes",
            "Changes that are not yet applied and published, by lane; counted up to 4,000 each.",
            labels=["lane"],
        )
        oldest = GaugeMetricFamily(
            "kith_outbox_oldest_seconds",
            "Age of the oldest change that is not yet applied and published, by lane.",
            labels=["lane"],
        )
        parked = GaugeMetricFamily(
            "kith_outbox_parked_changes",
            "Applied changes that wait until the caches of their users are available, by lane.",
            labels=["lane"],
        )
        failed = GaugeMetricFamily(
            "kith_outbox_failed_changes",
            "Failed changes, which could not be applied and wait for an operator, by lane.",
            labels=["lane"],
        )
        for lane in sorted(lane for lane in backlog if lane < LANES_MAX):
            waiting, waiting_for_caches = backlog[lane], backlog[parked_lane(lane)]
            changes.add_metric([str(lane)], waiting.changes)
            parked.add_metric([str(lane)], waiting_for_caches.changes)
            failed.add_metric([str(lane)], backlog[failed_lane(lane)].changes)
            oldest.add_metric([str(lane)], max(waiting.oldest_s, waiting_for_caches.oldest_s))
        return [changes, oldest, parked, failed]

    async def _lags(self) -> Metric:
        within = GaugeMetricFamily(
            "kith_consistent_within_seconds",
            "How long a change takes to reach the other user's lists and all caches, by lane: that"
            " of the last canary, or the age of one that is waiting.",
            labels=["lane"],
        )
        for lane, lag_s in (await self.stores.jobs.lanes.canaries.lags()).items():
            within.add_metric([str(lane)], lag_s)
        return within

    async def _verification(self) -> list[Metric]:
        state = await self.stores.jobs.periodic.verification.state()
        found = GaugeMetricFamily(
            "kith_verify_drift",
            "Inconsistencies that the scheduled verification has found, by kind: those of the last"
            " complete pass, or of the current one if there are more.",
            labels=["kind"],
        )
        completed, current = state.completed_drifts or {}, state.drifts or {}
        for kind in DriftKind:
            number = max(completed.get(kind.name, 0), current.get(kind.name, 0))
            found.add_metric([kind.name], number)
        return [
            found,
            GaugeMetricFamily(
                "kith_verify_completed_timestamp_seconds",
                "When the last complete pass of the scheduled verification ended; 0: never.",
                (state.completed_at or 0) / 1_000_000,
            ),
            GaugeMetricFamily(
                "kith_verify_compared_rows",
                "Rows and users that the current pass has compared.",
                state.compared,
            ),
            CounterMetricFamily(
                "kith_verify_slices", "Slices of the scheduled verification.", state.slices
            ),
        ]

    async def _webhooks(self) -> list[Metric]:
        """Metrics of webhook endpoints, by their names, which are few."""
        endpoints = GaugeMetricFamily(
            "kith_webhook_endpoints", "Endpoints of webhooks, by state.", labels=["state"]
        )
        waiting = GaugeMetricFamily(
            "kith_webhook_waiting_deliveries",
            "Deliveries that wait for an endpoint.",
            labels=["endpoint"],
        )
        parked = GaugeMetricFamily(
            "kith_webhook_parked_deliveries",
            "Deliveries that have failed for too long and were parked.",
            labels=["endpoint"],
        )
        oldest = GaugeMetricFamily(
            "kith_webhook_oldest_seconds",
            "Age of the oldest delivery that waits for an active endpoint.",
            labels=["endpoint"],
        )
        backlogs = await self.stores.jobs.webhooks.endpoints.backlogs()
        for state in EndpointState:
            number = sum(one.state is state for one in backlogs.values())
            endpoints.add_metric([state.name.lower()], number)
        for name, backlog in backlogs.items():
            waiting.add_metric([name], backlog.waiting)
            parked.add_metric([name], backlog.parked)
            if backlog.state is EndpointState.ACTIVE:
                oldest.add_metric([name], backlog.oldest_s)
        return [endpoints, waiting, parked, oldest]

    async def _absent(self) -> Metric:
        return GaugeMetricFamily(
            "kith_absent_accounts",
            "Accounts that are deactivated, or deleted and not yet erased.",
            len(await self.stores.reads.absences.now()),
        )

    async def _queued(self) -> Metric:
        return GaugeMetricFamily(
            "kith_jobs_queued",
            "Jobs in the workers' queue, running ones included: lanes, erasures, scheduled jobs.",
            await self.stores.broker.lanes.queued(),
        )

    async def _events(self) -> Metric:
        """The age of the oldest event of each lane group. One without events has no sample."""
        oldest = GaugeMetricFamily(
            "kith_events_oldest_seconds",
            "Age of the oldest event in the change feed.",
            labels=["lane"],
        )
        now_ms = time.time() * 1000
        for group, since_ms in (await self.stores.broker.events.oldest_ms()).items():
            oldest.add_metric([str(group)], max(0.0, now_ms - since_ms) / 1000)
        return oldest
