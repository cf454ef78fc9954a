"""redis-py's connection pool: one connection per call, for TLS and other addresses that only
redis-py supports.

The server may be in cluster mode and reject commands with keys of several slots, so these are split
into single keys.
"""

from collections.abc import Sequence

from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as RedisPy
from redis.exceptions import RedisError, ResponseError

from storage.redis.scripts import sent_whole
from storage.redis.wire import Command, Reply, WireError, rejection, rejoined, singly
from storage.settings import StorageSettings


class PooledWire:
    """Implements `Wire`."""

    def __init__(self, settings: StorageSettings) -> None:
        self._client = client(settings)
        self._client.response_callbacks.clear()  # replies as the server sends them
        self.round_trips = 0

    async def send(self, commands: Sequence[Command]) -> list[Reply]:
        self.round_trips += 1
        return rejoined(commands, await self._sent(list(map(sent_whole, singly(commands)))))

    async def _sent(self, commands: Sequence[Command]) -> list[Reply]:
        try:
            if len(commands) == 1:  # a pipeline would only cost more
                return [await self._client.execute_command(*commands[0])]  # type: ignore[no-untyped-call]
            async with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                # With raise_on_error, redis-py's own text would replace the server's message.
                replies = list(await pipeline.execute(raise_on_error=False))
            for reply in replies:
                if isinstance(reply, RedisError):
                    raise reply
            return replies
        except ResponseError as error:
            raise rejection(str(error)) from error
        except (RedisError, OSError, TimeoutError) as error:
            raise WireError(str(error)) from error

    async def close(self) -> None:
        await self._client.aclose()


def client(settings: StorageSettings) -> "RedisPy":
    """A redis-py client with a bounded number of connections and short timeouts."""
    pool = BlockingConnectionPool.from_url(
        settings.redis_url,
        max_connections=settings.redis_connections_max,
        timeout=settings.redis_timeout_s,
        socket_timeout=settings.redis_timeout_s,
        socket_connect_timeout=settings.redis_timeout_s,
        client_name="kith",
    )
    return RedisPy.from_pool(pool)
