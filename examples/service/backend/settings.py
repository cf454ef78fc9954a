"""Settings of the process, read once from the environment."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class SettingsError(Exception):
    """A setting is missing or wrong; the text names it and says what to do."""


@dataclass(frozen=True, slots=True)
class KithSettings:
    """The address of Kith, and a token with the scope `service`."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """The change feed to consume, the group and its member, and the file to write."""

    redis_url: str
    database: Path
    space: str
    group: str
    consumer: str
    idle_ms: int
    """How long an entry can be pending before another consumer takes it over."""


def kith_settings(environ: Mapping[str, str] = os.environ) -> KithSettings:
    """Return the settings of `check`, `mask` and `export`. Raises SettingsError."""
    token = _required(environ, "KITH_TOKEN", "a token with the scope `service`")
    return KithSettings(environ.get("KITH_URL") or "http://127.0.0.1:8000/graphql", token)


def feed_settings(environ: Mapping[str, str] = os.environ) -> FeedSettings:
    """Return the settings of `consume`. Raises SettingsError."""
    return FeedSettings(
        redis_url=_redis_url(_required(environ, "REDIS_URL", "the Redis that Kith uses")),
        database=inbox_file(environ),
        space=environ.get("KITH_SPACE") or "public",
        group=environ.get("FEED_GROUP") or "inbox",
        consumer=environ.get("FEED_CONSUMER") or socket.gethostname(),
        idle_ms=_whole_number(environ, "FEED_IDLE_MS", 30_000, minimum=100, maximum=3_600_000),
    )


def inbox_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the SQLite file of `consume` and `inbox`."""
    return Path(environ.get("INBOX_FILE") or "inbox.sqlite")


def _required(environ: Mapping[str, str], name: str, what: str) -> str:
    if value := environ.get(name):
        return value
    raise SettingsError(f"{name} is not set: {what}. README.md says how to get it.")


def _redis_url(url: str) -> str:
    # Kith also reads unix:/path, as URLs without a host are written; redis-py wants unix:///path.
    return re.sub("^unix:/(?!/)", "unix:///", url)


def _whole_number(
    environ: Mapping[str, str], name: str, default: int, *, minimum: int, maximum: int
) -> int:
    text = environ.get(name) or str(default)
    if text.isascii() and text.isdecimal() and minimum <= int(text) <= maximum:
        return int(text)
    raise SettingsError(
        f"{name} is {text!r}; it must be a whole number from {minimum} to {maximum}."
    )
