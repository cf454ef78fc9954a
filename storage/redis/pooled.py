"""redis-py's pool: one connection a call. For TLS, and for whatever else redis-py can reach.

That may be a server in cluster mode, which answers no question for the keys of several users: so
their values are asked for one by one, in their order.
"""

from collections.abc import Sequence

from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as RedisPy
from redis.exceptions import RedisError, ResponseError

from storage.redis.scripts import sent_whole
from storage.redis.wire import Command, Reply, WireError, refusal, rejoined, singly
from storage.settings import StorageSettings


class PooledWire:
    """Keeps `Wire`."""

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
                # Not told where in the pipeline an error was, which would hide what it says.
                replies = list(await pipeline.execute(raise_on_error=False))
            for reply in replies:
                if isinstance(reply, RedisError):
                    raise reply
            return replies
        except ResponseError as error:
            raise refusal(str(error)) from error
        except (RedisError, OSError, TimeoutError) as error:
            raise WireError(str(error)) from error

    async def close(self) -> None:
        await self._client.aclose()


def client(settings: StorageSettings) -> "RedisPy":
    """A redis-py client with bounded connections and short time-outs."""
    pool = BlockingConnectionPool.from_url(
        settings.redis_url,
        max_connections=settings.redis_connections_max,
        timeout=settings.redis_timeout_s,
        socket_timeout=settings.redis_timeout_s,
        socket_connect_timeout=settings.redis_timeout_s,
        client_name="kith",
    )
    return RedisPy.from_pool(pool)
