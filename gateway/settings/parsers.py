"""Parsers and checks of single settings.

They raise ValueError with the rest of a sentence that begins with the name of the variable.
"""

import re
from collections.abc import Callable, Collection, Mapping
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from gateway.authentication.token_claims import parse_claim_path
from gateway.graphql.settings import Access
from gateway.http.addresses import Address, TcpAddress, UnixAddress
from gateway.spaces.settings import SpaceSource
from graph.affinity import InteractionKind
from storage.redis.sentinel import is_sentinel, parse_group_url
from storage.settings import CLUSTER, PLAN_CACHE_MODES
from storage.webhook_secrets import KEY_BYTES_MIN
from workers.webhook_addresses import Network

_WEIGHT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")


def check_redis_url(schemes: Collection[str]) -> Callable[[SecretStr], SecretStr]:
    """A check that an address of Redis has one of the schemes. Its errors show no password."""

    def check(secret: SecretStr) -> SecretStr:
        url = secret.get_secret_value()
        scheme = url.partition(":")[0]
        if scheme not in schemes:
            # Without a scheme, these may be the first letters of a password.
            begins = repr(scheme) if "://" in url else "no scheme"
            raise ValueError(f"begins with {begins}; it must be an address of {', '.join(schemes)}")
        if is_sentinel(url):
            parse_group_url(url)
            return secret
        try:
            address = urlsplit(url)
            _ = address.port  # raises ValueError for an invalid port
        except ValueError:  # its text may hold a part of a password
            raise ValueError(
                f"cannot be read; it must look like {scheme}://user:password@host:6379, where"
                " special characters of a password are written as %XX"
            ) from None
        database = parse_qs(address.query).get("db", [address.path.strip("/")])[-1]
        if scheme.endswith(CLUSTER) and database not in ("", "0"):
            raise ValueError(
                f"names the database {database!r}, but of a Redis Cluster only 0 is used: leave it"
                " out"
            )
        return secret

    return check


LEVELS = ("debug", "info", "warning", "error")


def parse_level(text: str) -> str:
    """The level of a log."""
    if text not in LEVELS:
        raise ValueError(f"is {text!r}; it must be one of {', '.join(LEVELS)}")
    return text


def parse_plan_cache_mode(text: str) -> str:
    """One of PostgreSQL's modes of planning prepared statements."""
    if text not in PLAN_CACHE_MODES:
        raise ValueError(f"is {text!r}; it must be one of {', '.join(PLAN_CACHE_MODES)}")
    return text


def parse_weights(text: str) -> Mapping[InteractionKind, float]:
    """The weights in `LIKED=3,MESSAGED=7.5`."""
    return dict(map(_kind_and_weight, filter(None, text.split(","))))


def _kind_and_weight(text: str) -> tuple[InteractionKind, float]:
    name, _, value = text.strip().partition("=")
    is_number = _WEIGHT.fullmatch(value) and float(value)
    if name in InteractionKind.__members__ and is_number:
        return InteractionKind[name], float(value)
    raise ValueError(
        f"holds {text!r}; it must be KIND=WEIGHT pairs with commas between, of the kinds"
        f" {', '.join(InteractionKind.__members__)} and weights above 0, up to 999999"
    )


def parse_access(text: str) -> Access:
    """Parse the callers who may read something."""
    try:
        return Access(text)
    except ValueError:
        raise ValueError(f"is {text[:100]!r}; it must be off, services or on") from None


def parse_space_sources(text: str) -> frozenset[SpaceSource]:
    """The parts of a request that may name its space."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        found = frozenset(map(SpaceSource, words))
    except ValueError:
        found = frozenset()
    if not found:
        raise ValueError(f"is {text[:100]!r}; it must be some of claim, header, path")
    return found


def parse_networks(text: str) -> tuple[Network, ...]:
    """Networks in a comma-separated list."""
    entries = list(filter(None, (entry.strip() for entry in text.split(","))))
    try:
        return tuple(map(ip_network, entries))
    except ValueError:
        raise ValueError(
            f"is {text[:100]!r}; it must be networks such as 10.1.0.0/16, separated by commas"
        ) from None


def check_encryption_keys(secret: SecretStr) -> SecretStr:
    """Check the length of keys that encrypt secrets of webhooks."""
    keys = filter(None, secret.get_secret_value().splitlines())
    if any(len(key.encode()) < KEY_BYTES_MIN for key in keys):
        raise ValueError(
            f"has a key of fewer than {KEY_BYTES_MIN} bytes; `openssl rand -hex 32` prints one"
        )
    return secret


def check_claim_path(text: str) -> str:
    """Check the path of a claim."""
    parse_claim_path(text)
    return text


def parse_address(text: str) -> Address:
    """An address to listen on: `host:port`, or `unix:` and a path."""
    if text.startswith("unix:/"):
        return UnixAddress(Path(text.removeprefix("unix:")))
    host, _, port = text.rpartition(":")
    if host and port.isdecimal() and 0 < int(port[:6]) < 65_536:
        return TcpAddress(host.removeprefix("[").removesuffix("]"), int(port))
    raise ValueError(f"is {text[:100]!r}; it must be host:port or unix:/path")
