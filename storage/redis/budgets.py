"""Budgets of callers in Redis, shared by all gateways."""

from graph.rate_limit import Bucket, Grant
from storage.redis.connection import Redis
from storage.redis.keys import Keys
from storage.redis.scripts import CALL, TAKE_BUDGET


class RedisBudgets:
    """Implements `storage.ports.limits.Budgets`. A key exists only while its bucket is not full."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    async def take(self, caller: str, bucket: Bucket, spent: int, least: int, limit: int) -> Grant:
        key = self._keys.budget(caller)
        numbers = (bucket.size, f"{bucket.per_ms:.6f}", spent, least, limit)
        ((granted, remaining, wait_ms),) = await self._redis.pipe(
            [(CALL, TAKE_BUDGET, 1, key, *numbers)]
        )
        return Grant(granted, remaining, wait_ms)
