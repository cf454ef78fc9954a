"""Health checks: whether the process is alive, and whether it can serve requests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from graph.errors import KithError

Probe = Callable[[], Awaitable[None]]
"""Checks one part. Raises if it is down."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One part: up, or down with a reason that contains no host name and no password."""

    name: str
    required: bool
    reason: str | None = None

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "status": "up" if self.reason is None else "down",
            "required": self.required,
        }
        return shown if self.reason is None else {**shown, "reason": self.reason}


class Health:
    """Probes all parts concurrently, each for at most `deadline_ms`.

    `required` names the parts without which no request can succeed. Concurrent callers share one
    round of probes, so that many load balancers cause no load.
    """

    def __init__(
        self, probes: Mapping[str, Probe], required: frozenset[str], deadline_ms: int = 1_000
    ) -> None:
        if unknown := required - probes.keys():
            raise ValueError(f"There is no probe for the required parts {sorted(unknown)}.")
        self._probes = probes
        self._required = required
        self._deadline_ms = deadline_ms
        self._round: asyncio.Task[list[PartHealth]] | None = None

    def routes(self) -> list[Route]:
        return [Route("/healthz", self.alive), Route("/readyz", self.ready)]

    async def alive(self, _: Request) -> Response:
        """200 while the event loop runs. No I/O: a slow database must not cause a restart."""
        return _json(200, {"status": "alive"})

    async def ready(self, _: Request) -> Response:
        """503 if a required part is down; 200 and "degraded" if only other parts are."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._probe_all())
        # A caller that disconnects must not cancel the round for the others.
        parts = await asyncio.shield(self._round)
        down = [part for part in parts if part.reason is not None]
        unavailable = any(part.required for part in down)
        status = "unavailable" if unavailable else "degraded" if down else "ready"
        content = {"status": status, "parts": {part.name: part.shown() for part in parts}}
        return _json(503 if unavailable else 200, content)

    async def _probe_all(self) -> list[PartHealth]:
        return await asyncio.gather(*(self._probe(name) for name in self._probes))

    async def _probe(self, name: str) -> PartHealth:
        required = name in self._required
        task = asyncio.ensure_future(self._probes[name]())
        # `wait` returns at the deadline even if the probe swallows its cancellation.
        await asyncio.wait([task], timeout=self._deadline_ms / 1000)
        if not task.done():
            task.cancel()
            return PartHealth(name, required, f"no answer within {self._deadline_ms} ms")
        if task.cancelled():
            return PartHealth(name, required, "the probe was cancelled")
        error = task.exception()
        return PartHealth(name, required, None if error is None else _reason(error))


def _reason(error: BaseException) -> str:
    """Our own errors may be shown; a driver's text may contain host names."""
    return str(error) if isinstance(error, KithError) else type(error).__name__


def _json(status: int, content: dict[str, Any]) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(orjson.dumps(content), status, headers, "application/json")
