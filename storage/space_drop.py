"""Removes the keys of a space from Redis: caches, events, the queue and its jobs."""

from storage.redis.connection import unlink_all
from storage.settings import StorageSettings
from storage.wiring.servers import shared_servers


async def unlink_keys(settings: StorageSettings, space: str) -> None:
    """Delete every key of `space`. It scans the keys of all spaces, a batch at a time.

    Raises:
        Unavailable: Redis cannot be reached; some keys may be left.
    """
    async with shared_servers(settings, limit=1) as servers:
        for redis in {servers.redis, servers.broker}:
            await unlink_all(redis, f"kith:{space}:*")
        # arq's keys of a job contain the job's name, which begins with kith:SPACE.
        await unlink_all(servers.broker, f"arq:*:kith:{space}:*")
