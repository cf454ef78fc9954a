"""Spreads connections over the hosts of a URL."""

import random
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

T = TypeVar("T")

PARAMETER = "load_balance_hosts"
"""A parameter of libpq 16, which asyncpg does not know: `disable`, or `random`."""


def balanced(url: str) -> str:
    """The URL without the parameter. If it is `random`, the hosts are in random order.

    Raises:
        ValueError: it has another value.
    """
    parts = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    mode = query.pop(PARAMETER, None)
    if mode is None:
        return url
    if mode not in ("disable", "random"):
        raise ValueError(f"{PARAMETER} must be disable or random, got {mode}.")
    netloc = parts.netloc
    if mode == "random":
        user, at, hosts = netloc.rpartition("@")
        netloc = user + at + ",".join(_shuffled(hosts.split(",")))
        if "host" in query:
            query |= _shuffled_pairs(query["host"].split(","), query.get("port", "").split(","))
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(query, safe="/,")))


def _shuffled_pairs(hosts: Sequence[str], ports: Sequence[str]) -> dict[str, str]:
    """Hosts with their ports, which may be one for all."""
    if len(ports) != len(hosts):
        return {"host": ",".join(_shuffled(hosts))}
    pairs = _shuffled(list(zip(hosts, ports, strict=True)))
    return {"host": ",".join(host for host, _ in pairs), "port": ",".join(p for _, p in pairs)}


def _shuffled(values: Sequence[T]) -> list[T]:
    return random.sample(values, len(values))
