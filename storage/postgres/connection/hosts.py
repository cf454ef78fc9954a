"""Spreads connections over the hosts of a URL."""

import random
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

T = TypeVar("T")

LOAD_BALANCE_HOSTS = "load_balance_hosts"
"""A URL parameter of libpq 16 that asyncpg does not support: `disable` or `random`."""


def balanced(url: str) -> str:
    """The URL without `load_balance_hosts`. If that is `random`, the hosts are in random order.

    Raises:
        ValueError: `load_balance_hosts` has an invalid value.
    """
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    mode = query.pop(LOAD_BALANCE_HOSTS, None)
    if mode is None:
        return url
    if mode not in ("disable", "random"):
        raise ValueError(f"{LOAD_BALANCE_HOSTS} must be disable or random, got {mode}.")
    netloc = parts.netloc
    if mode == "random":
        user, at, hosts = netloc.rpartition("@")
        netloc = user + at + ",".join(_shuffled(hosts.split(",")))
        if "host" in query:
            query |= _shuffled_pairs(query["host"].split(","), query.get("port", "").split(","))
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="/,")))


def _shuffled_pairs(hosts: Sequence[str], ports: Sequence[str]) -> dict[str, str]:
    """The URL parameters of hosts and their ports in one random order. There may be one port for
    all hosts."""
    if len(ports) != len(hosts):
        return {"host": ",".join(_shuffled(hosts))}
    pairs = _shuffled(list(zip(hosts, ports, strict=True)))
    return {"host": ",".join(host for host, _ in pairs), "port": ",".join(p for _, p in pairs)}


def _shuffled(values: Sequence[T]) -> list[T]:
    return random.sample(values, len(values))
