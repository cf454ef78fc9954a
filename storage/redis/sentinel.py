"""A group of Redis servers watched by sentinels: the address of its primary, which may change."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from redis.asyncio.connection import ConnectionPool, parse_url
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.exceptions import RedisError

from storage.redis.address import Address, Location, parse_address
from storage.settings import SENTINEL

PORT = 26_379
"""The port of a sentinel, if the URL names none."""

_HOST_AND_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:]+))(?::([0-9]{1,5}))?")
"""An IPv6 address must be in brackets. Otherwise its last part would look like a port."""
SENTINEL_PREFIX = "sentinel_"
"""The prefix of the parameters for the sentinels."""

ANSWER_S = 0.2
"""Timeout of one sentinel: short, so that several can be asked before connecting times out."""


@dataclass(frozen=True, slots=True)
class GroupUrl:
    """The parts of a URL `redis+sentinel://user:password@host:port,host:port/group/database`.

    The credentials and the TLS parameters are for the servers of the group. The parameters
    `sentinel_username` and `sentinel_password` are for the sentinels.
    """

    sentinels: tuple[tuple[str, int], ...]
    name: str
    server: str
    """The URL of the primary, with a placeholder for the host."""
    sentinel_credentials: Mapping[str, str]


def is_sentinel(url: str) -> bool:
    return url.partition(":")[0].endswith(SENTINEL)


def parse_group_url(url: str) -> GroupUrl:
    """The sentinels, the group and the credentials in a URL `redis+sentinel://`.

    Raises:
        ValueError: a part is missing or wrong. The message contains no password.
    """
    scheme, _, rest = url.partition(":")
    parts = urlsplit(rest)
    credentials, _, hosts = parts.netloc.rpartition("@")
    name, _, database = parts.path.strip("/").partition("/")
    if not hosts or not name:
        raise ValueError("must name sentinels and a group, as in redis+sentinel://host:26379/group")
    options = parse_qsl(parts.query)
    for_sentinels = {
        key.removeprefix(SENTINEL_PREFIX): value
        for key, value in options
        if key.startswith(SENTINEL_PREFIX)
    }
    query = urlencode(
        [(key, value) for key, value in options if not key.startswith(SENTINEL_PREFIX)]
    )
    user = f"{credentials}@" if credentials else ""
    server = f"{user}primary/{database}{query and '?'}{query}"
    server_url = f"{scheme.removesuffix(SENTINEL)}://{server}"
    sentinels = tuple(map(_host_and_port, hosts.split(",")))
    return GroupUrl(sentinels, unquote(name), server_url, for_sentinels)


def _host_and_port(text: str) -> tuple[str, int]:
    match = _HOST_AND_PORT.fullmatch(text)
    port = int(match[3] or PORT) if match else 0
    if match is None or not 0 < port <= 65_535:
        raise ValueError(f"must name each sentinel as host:port, not {text!r}")
    return match[1] or match[2], port


def location_of(url: str) -> Location:
    """The location of the server, or of the primary of a Sentinel group.

    Raises:
        ValueError: a part of the URL is missing or wrong.
    """
    return SentinelGroup(parse_group_url(url)) if is_sentinel(url) else parse_address(url)


class _Sentinels(Sentinel):
    """Asks all sentinels at once, until more than half have answered, and believes the one with the
    latest configuration. redis-py believes the first one, which may learn of a failover two seconds
    later than the others.

    Closes the connections after each request: requests are rare, and redis-py does not close them.
    """

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        asked = [
            asyncio.create_task(sentinel.sentinel_masters())  # type: ignore[no-untyped-call]
            for sentinel in self.sentinels
        ]
        answered, known, errors = 0, [], []
        try:
            for answer in asyncio.as_completed(asked):
                try:
                    state = (await answer).get(service_name)
                except RedisError as error:
                    errors.append(str(error))
                    continue
                answered += 1
                if state and self.check_master_state(state, service_name):
                    known.append((state["config-epoch"], state["ip"], state["port"]))
                if known and answered > len(asked) // 2:
                    break
        finally:
            for request in asked:
                request.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            await asyncio.gather(*(sentinel.aclose() for sentinel in self.sentinels))
        if not known:
            text = f"no sentinel knows a primary of {service_name!r}"
            raise MasterNotFoundError("; ".join([text, *errors]))
        _, host, port = max(known)
        return host, port


class SentinelGroup:
    """Asks the sentinels for the primary. Implements `Location`."""

    def __init__(self, url: GroupUrl) -> None:
        self._url = url
        self._address = parse_address(url.server)
        self._sentinel = _Sentinels(  # type: ignore[no-untyped-call]
            url.sentinels,
            sentinel_kwargs={
                "socket_timeout": ANSWER_S,
                "socket_connect_timeout": ANSWER_S,
                **url.sentinel_credentials,
            },
        )

    def __str__(self) -> str:
        return f"the primary of {self._url.name}"

    async def find(self) -> Address:
        """The address of the current primary.

        Raises:
            redis.RedisError: no sentinel answers, or none knows a primary.
        """
        host, port = await self._sentinel.discover_master(self._url.name)
        return replace(self._address, host=host, port=port)

    def pool(self, **options: Any) -> ConnectionPool:
        """A pool of redis-py's connections to the primary, for arq."""
        server = parse_url(self._url.server)
        server.pop("host")
        server.pop("connection_class", None)
        return SentinelConnectionPool(  # type: ignore[no-untyped-call]
            self._url.name,
            self._sentinel,
            ssl=self._address.tls is not None,
            **server,
            **options,
        )
