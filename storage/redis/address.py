"""The address of a Redis server: where it listens, and the credentials and TLS of a connection."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from redis.asyncio.connection import parse_url

_OPTIONS = (
    *("ssl_ca_certs", "ssl_ca_data", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs"),
    *("ssl_check_hostname", "ssl_ciphers"),
)
_VERIFY_MODES = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class Location(Protocol):
    """Finds the address of a server, which may change."""

    async def find(self) -> "Address":
        """The current address.

        Raises:
            redis.RedisError: it cannot be found now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Address:
    """An address. `path` is the unix socket's, if there is one. `tls` is None without TLS."""

    host: str
    port: int
    path: str | None
    username: str | None
    password: str | None
    database: int
    tls: ssl.SSLContext | None

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"

    async def find(self) -> "Address":
        """Implements `Location`."""
        return self


def parse_address(url: str) -> Address:
    """The address in a URL `redis://`, `rediss://` or `unix://`, with redis-py's parameters.

    Loads the certificates that the URL names.

    Raises:
        ValueError: a parameter is wrong; the message names it.
    """
    options: Mapping[str, Any] = {**parse_url(url)}
    return Address(
        host=options.get("host", "localhost"),
        port=options.get("port", 6379),
        path=options.get("path"),
        username=options.get("username"),
        password=options.get("password"),
        database=options.get("db", 0),
        tls=_tls(options) if url.startswith("rediss:") else None,
    )


def _tls(options: Mapping[str, Any]) -> ssl.SSLContext:
    """The TLS context of a URL's parameters. By default, it verifies certificate and host name.
    `ssl_ca_certs` or `ssl_ca_data` replaces the system's certificate authorities."""
    for name in options:
        if name.startswith("ssl_") and name not in _OPTIONS:
            raise ValueError(f"{name} is unknown in a Redis URL; known are {', '.join(_OPTIONS)}.")
    mode = options.get("ssl_cert_reqs", "required")
    if mode not in _VERIFY_MODES:
        raise ValueError(f"ssl_cert_reqs is {mode!r}; it must be {', '.join(_VERIFY_MODES)}.")
    name = ""
    try:
        name = "ssl_ca_data" if "ssl_ca_data" in options else "ssl_ca_certs"
        context = ssl.create_default_context(
            cafile=options.get("ssl_ca_certs"), cadata=options.get("ssl_ca_data")
        )
        if certificate := options.get("ssl_certfile"):
            name = "ssl_certfile or ssl_keyfile"
            context.load_cert_chain(certificate, options.get("ssl_keyfile"))
        if ciphers := options.get("ssl_ciphers"):
            name = "ssl_ciphers"
            context.set_ciphers(ciphers)
    except OSError as error:  # also ssl.SSLError
        raise ValueError(f"{name} of the Redis URL cannot be used: {error}") from None
    context.check_hostname = mode == "required" and options.get("ssl_check_hostname", True)
    context.verify_mode = _VERIFY_MODES[mode]
    return context
