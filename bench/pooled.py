"""redis-py's connection pool as a wire, for the contestants without a multiplexed connection.

A cluster's server may reject commands with keys of several slots, so these are split into single
keys. Scripts are sent whole, because redis-py rejects EVALSHA in a pipeline to a cluster.
"""

from collections.abc import Sequence

from redis.asyncio import BlockingConnectionPool
from redis.asyncio import Redis as RedisPy
from redis.exceptions import RedisError, ResponseError

from storage.redis.scripts import CALL, TEXTS
from storage.redis.wire import Command, Reply, WireError, join_replies, rejection, split_by_key
from storage.settings import StorageSettings


class PooledWire:
    """Implements `Wire`."""

    def __init__(self, settings: StorageSettings) -> None:
        pool = BlockingConnectionPool.from_url(
            settings.redis_url,
            max_connections=settings.connections.redis_connections_max,
            timeout=settings.connections.redis_timeout_s,
            socket_timeout=settings.connections.redis_timeout_s,
            socket_connect_timeout=settings.connections.redis_timeout_s,
        )
        self._client = RedisPy.from_pool(pool)
        self._client.response_callbacks.clear()  # replies as the server sends them
        self.round_trips = 0

    async def send(self, commands: Sequence[Command]) -> list[Reply]:
        self.round_trips += 1
        return join_replies(
            commands, await self._send(list(map(_with_script_text, split_by_key(commands))))
        )

    async def _send(self, commands: Sequence[Command]) -> list[Reply]:
        try:
            if len(commands) == 1:  # a pipeline would only cost more
                return [await self._client.execute_command(*commands[0])]  # type: ignore[no-untyped-call]
            async with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)
                return list(await pipeline.execute())
        except ResponseError as error:
            raise rejection(str(error)) from error
        except (RedisError, OSError, TimeoutError) as error:
            raise WireError(str(error)) from error

    async def close(self) -> None:
        await self._client.aclose()


def _with_script_text(command: Command) -> Command:
    """The command with the script's text, for a server that may not have loaded it."""
    return ("EVAL", TEXTS[str(command[1])], *command[2:]) if command[0] == CALL else command
