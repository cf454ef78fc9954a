"""A proxy in front of PostgreSQL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from storage.settings import StorageSettings
from tests.support.proxy import Proxy

SOCKET = ".s.PGSQL.5432"


@asynccontextmanager
async def postgres_proxy(
    settings: StorageSettings, folder: Path
) -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy before PostgreSQL, and the URL of the database through it."""
    url = urlsplit(settings.database_url)
    parameters = {name: value for name, (value,) in parse_qs(url.query).items()}
    proxy_folder = folder / "postgres"
    proxy_folder.mkdir()
    proxy = Proxy(Path(parameters["host"]) / SOCKET, proxy_folder / SOCKET)
    await proxy.restore()
    query = urlencode({**parameters, "host": str(proxy_folder)}, safe="/")
    try:
        yield proxy, urlunsplit(url._replace(query=query))
    finally:
        with suppress(OSError):
            await proxy.cut()
