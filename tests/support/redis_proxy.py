"""A proxy in front of a Redis server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.support.proxy import Proxy


@asynccontextmanager
async def proxy_to(redis_url: str, folder: Path) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy to the server at `redis_url`, and the URL of the proxy."""
    url = urlsplit(redis_url)
    assert url.scheme == "unix", "the suite's Redis is reached by a unix socket"
    own_socket = folder / "proxy.sock"
    proxy = Proxy(Path(url.path), own_socket)
    await proxy.restore()
    try:
        yield proxy, urlunsplit(url._replace(path=str(own_socket)))
    finally:
        with suppress(OSError):
            await proxy.cut()
