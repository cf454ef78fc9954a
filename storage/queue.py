"""The one adapter to arq: wakes the workers of a space. Knows nothing of what they do."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from arq.connections import ArqRedis
from redis.exceptions import RedisError

from graph.errors import Unavailable
from graph.lane import Lane
from storage.redis.connection import PART
from storage.redis.pooled import client
from storage.settings import StorageSettings

log = logging.getLogger(__name__)

DRAIN = "drain"
"""The name of the job that drains one lane, whose number is its only argument."""

GATHER_S = 0.005
"""How long wake-ups are gathered: many writes to one lane cost one job."""


def serialize(job: dict[str, Any]) -> bytes:
    """arq's own choice would be pickle, which runs what it reads."""
    return orjson.dumps(job, default=repr)


def deserialize(job: bytes) -> dict[str, Any]:
    read: dict[str, Any] = orjson.loads(job)
    return read


def queue_name(space: str) -> str:
    return f"kith:{space}:jobs"


def job_id(space: str, lane: Lane) -> str:
    """One job a dirty lane, however often it is woken: arq drops what is queued already."""
    return f"kith:{space}:lane:{lane}"


def arq_redis(settings: StorageSettings) -> ArqRedis:
    """arq's client of the space's queue."""
    return ArqRedis(
        client(settings).connection_pool,
        job_serializer=serialize,
        job_deserializer=deserialize,
        default_queue_name=queue_name(settings.space),
    )


@contextmanager
def queue_errors() -> Iterator[None]:
    """Turns whatever arq lets through when Redis goes away into Unavailable."""
    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        raise Unavailable(PART) from error


class ArqLanes:
    """Keeps `storage.ports.Lanes`."""

    def __init__(self, settings: StorageSettings) -> None:
        self._space = settings.space
        self._timeout_s = settings.redis_timeout_s
        self._arq = arq_redis(settings)
        self._dirty: set[Lane] = set()
        self._flush: asyncio.Task[None] | None = None

    def wake(self, lanes: Iterable[Lane]) -> None:
        self._dirty.update(lanes)
        if self._dirty and (self._flush is None or self._flush.done()):
            self._flush = asyncio.create_task(self._enqueue_all())

    async def queued(self) -> int:
        """How many lanes wait for a worker.

        Raises:
            Unavailable: Redis is.
        """
        with queue_errors():
            async with asyncio.timeout(self._timeout_s):
                return int(await self._arq.zcard(queue_name(self._space)))

    async def close(self) -> None:
        if self._flush is not None:
            await self._flush
        await self._arq.aclose(close_connection_pool=True)

    async def _enqueue_all(self) -> None:
        while self._dirty:
            await asyncio.sleep(GATHER_S)
            lanes, self._dirty = self._dirty, set()
            try:
                with queue_errors():
                    async with asyncio.timeout(self._timeout_s):
                        await asyncio.gather(*map(self._enqueue, lanes))
            except Unavailable:
                log.warning("lanes were not woken; the sweep will find them")

    async def _enqueue(self, lane: Lane) -> None:
        await self._arq.enqueue_job(DRAIN, lane, _job_id=job_id(self._space, lane))
