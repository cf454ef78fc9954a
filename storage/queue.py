"""Queues jobs for the arq workers of a space."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from arq.connections import ArqRedis
from arq.constants import expires_extra_ms, job_key_prefix
from arq.jobs import serialize_job
from redis.asyncio import BlockingConnectionPool, ConnectionPool
from redis.exceptions import RedisError

from graph.edge import UserId
from graph.errors import Unavailable
from graph.lane import Lane
from storage.redis.connection import Redis
from storage.redis.scripts import CALL, ENQUEUE
from storage.redis.sentinel import SentinelGroup, is_sentinel, parse_group_url
from storage.redis.wire import Command
from storage.settings import StorageSettings

log = logging.getLogger(__name__)

DRAIN = "drain"
"""Name of the job that drains one lane. Its only argument is the lane's number."""

ERASE = "erase"
"""Name of the job that erases a part of a deleted account. Its only argument is the user id."""

GATHER_S = 0.02
"""How long wake-ups are collected: many writes to one lane make one job, many lanes one command.

It equals the workers' polling pause, so it is half of the lag of a quiet system.
"""


def serialize(job: dict[str, Any]) -> bytes:
    """JSON instead of arq's default, pickle, which can execute code when read."""
    return orjson.dumps(job, default=repr)


def deserialize(job: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(job)
    return fields


def queue_name(space: str) -> str:
    return f"kith:{space}:jobs"


def job_id(space: str, lane: Lane) -> str:
    """The id of a lane's job. A lane has one job, however often it is woken: arq drops a job whose
    id is queued already."""
    return f"kith:{space}:lane:{lane}"


def erasure_id(space: str, user: UserId) -> str:
    """One job for each deleted account."""
    return f"kith:{space}:erase:{user}"


QUEUE_ERRORS = (RedisError, OSError, TimeoutError)
"""The errors that arq raises when Redis fails."""

WORKER_TIMEOUT_S = 10.0
"""How long a worker waits for Redis. Long, because an arq worker stops at a timeout, and no request
waits for it."""


def arq_redis(settings: StorageSettings) -> ArqRedis:
    """arq's client of the space's queue, with a bounded number of connections."""
    options: dict[str, Any] = {
        "max_connections": settings.connections.redis_connections_max,
        "socket_timeout": WORKER_TIMEOUT_S,
        "socket_connect_timeout": WORKER_TIMEOUT_S,
        "client_name": "kith",
    }
    url = settings.redis_url
    if url.startswith("rediss"):
        # redis-py checks the host name of a certificate only if asked to.
        options["ssl_check_hostname"] = True
    pool: ConnectionPool
    if is_sentinel(url):
        pool = SentinelGroup(parse_group_url(url)).pool(**options)
    else:
        pool = BlockingConnectionPool.from_url(url, timeout=WORKER_TIMEOUT_S, **options)
    return ArqRedis(
        pool,
        job_serializer=serialize,
        job_deserializer=deserialize,
        default_queue_name=queue_name(settings.space),
    )


class ArqLanes:
    """Implements `storage.ports.lanes.Lanes`.

    It writes what `ArqRedis.enqueue_job` would write, but in one round trip for any number of
    lanes. `enqueue_job` takes three for each lane.
    """

    def __init__(self, redis: Redis, space: str) -> None:
        self._redis = redis
        self._space = space
        self._to_wake: set[Lane] = set()
        self._flush: asyncio.Task[None] | None = None
        self._failed = False
        """Whether the last flush has failed."""

    def wake(self, lanes: Iterable[Lane]) -> None:
        self._to_wake.update(lanes)
        if self._to_wake and (self._flush is None or self._flush.done()):
            self._flush = asyncio.create_task(self._enqueue_all())

    async def queued(self) -> int:
        """Number of jobs in the queue: lanes, erasures and scheduled jobs, running ones included.

        Raises:
            Unavailable: Redis cannot be reached.
        """
        (queued,) = await self._redis.pipe([("ZCARD", queue_name(self._space))])
        return int(queued)

    async def wait_until_queued(self) -> None:
        """Return when all collected lanes are queued, or when queueing has failed."""
        if self._flush is not None:
            await self._flush

    async def _enqueue_all(self) -> None:
        while self._to_wake:
            await asyncio.sleep(GATHER_S)
            lanes, self._to_wake = self._to_wake, set()
            try:
                await self._redis.pipe([enqueue(self._space, lanes)])
            except Unavailable:
                if not self._failed:  # log once for each outage
                    log.warning("cannot enqueue lanes; the sweep will find them")
                self._failed = True
            else:
                self._failed = False


class ArqErasures:
    """Implements `storage.ports.accounts.ErasureQueue`."""

    def __init__(self, redis: Redis, space: str) -> None:
        self._redis = redis
        self._space = space

    async def wake(self, users: Iterable[UserId]) -> None:
        jobs = {erasure_id(self._space, user): user for user in users}
        if not jobs:
            return
        try:
            await self._redis.pipe([_enqueue(self._space, ERASE, jobs)])
        except Unavailable:
            log.warning("cannot enqueue erasures; the sweep will find them")


def enqueue(space: str, lanes: Iterable[Lane]) -> Command:
    """A command that queues a job for each lane."""
    return _enqueue(space, DRAIN, {job_id(space, lane): lane for lane in lanes})


def _enqueue(space: str, function: str, names: Mapping[str, int]) -> Command:
    """A command that queues jobs of `function`. `names` maps the name of each job to its only
    argument. The jobs store no results, so the command does not look for one, as arq would."""
    now_ms = int(time.time() * 1000)
    keys = (queue_name(space), *[job_key_prefix + name for name in names])
    jobs: list[str | bytes] = []
    for name, argument in names.items():
        job = serialize_job(function, (argument,), {}, None, now_ms, serializer=serialize)
        jobs += (name, job)
    return (CALL, ENQUEUE, len(keys), *keys, now_ms, expires_extra_ms, *jobs)
