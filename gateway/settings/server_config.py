"""The servers of a process, and the settings of its stores."""

from dataclasses import dataclass, field
from pathlib import Path

from devstack.state import Running, State, find_running
from gateway.settings.declarations.caches import CacheVariables
from gateway.settings.declarations.clients import StreamVariables
from gateway.settings.declarations.events import EventVariables
from gateway.settings.declarations.relationships import RelationshipVariables
from gateway.settings.declarations.servers import PostgresVariables, ServerVariables
from gateway.settings.environment import ConfigurationError, Environ, read
from gateway.settings.fields import revealed
from storage.settings import (
    CacheSettings,
    ConnectionSettings,
    EventSettings,
    LocalSettings,
    StorageSettings,
)
from storage.space import checked_space


def server_urls(environ: Environ = None) -> tuple[str | None, str | None]:
    """The PostgreSQL and Redis URLs in the environment, each None if not set."""
    postgres, servers = read(PostgresVariables, environ), read(ServerVariables, environ)
    return revealed(postgres.database_url), revealed(servers.redis_url)


@dataclass(frozen=True, slots=True)
class DirectDatabase:
    """PostgreSQL without a pooler, for `migrate`."""

    url: str = field(repr=False)
    password_file: Path | None


def direct_database(state: Path, environ: Environ = None) -> DirectDatabase:
    """PostgreSQL's address, from the environment or a running `dev`.

    Raises:
        ConfigurationError: no address is set, and no `dev` is running.
    """
    postgres = read(PostgresVariables, environ)
    url = revealed(postgres.direct_database_url) or revealed(postgres.database_url)
    url = url or _running_dev(state, "DATABASE_URL").database_url
    return DirectDatabase(url, postgres.database_password_file)


def _running_dev(state: Path, missing: str) -> Running:
    running = find_running(State(state))
    if running is None:
        raise ConfigurationError(
            f"{missing} is not set, and no `make dev` runs in {state}. Set it, start `make dev`, "
            "or name the folder of a running one with --state."
        )
    return running


def storage_settings(environ: Environ, state: Path, space: str) -> StorageSettings:
    """The servers and limits of the stores of a space, whose servers may be those of a running
    `dev` in `state`."""
    postgres, servers = read(PostgresVariables, environ), read(ServerVariables, environ)
    caches = read(CacheVariables, environ)
    events, streams = read(EventVariables, environ), read(StreamVariables, environ)
    database_url, redis_url = _server_pair(environ, state)
    try:
        checked_space(space)
    except ValueError as error:
        raise ConfigurationError(f"--space: {error}") from None
    return StorageSettings(
        database_url,
        redis_url,
        space,
        ConnectionSettings(
            direct_database_url=revealed(postgres.direct_database_url),
            database_password_file=postgres.database_password_file,
            pool_max=postgres.pool_max,
            statement_cache_size=postgres.statement_cache_size,
            plan_cache_mode=postgres.plan_cache_mode,
        ),
        CacheSettings(
            url=revealed(servers.cache_url),
            ttl_s=caches.cache_ttl_s,
            delayed_writes=caches.delayed_writes,
        ),
        LocalSettings(ttl_ms=caches.hot_ttl_ms, bytes_max=caches.hot_mb * 1_000_000),
        EventSettings(
            events.events_max,
            events.events_kept_s,
            events.feed_max,
            events.feed_kept_s,
            streams.subscriptions_max,
            read(RelationshipVariables, environ).whispers_hidden,
        ),
    )


def _server_pair(environ: Environ, state: Path) -> tuple[str, str]:
    """The URLs of PostgreSQL and Redis, both from the settings or both of a running `dev`."""
    database_url, redis_url = server_urls(environ)
    if database_url and redis_url:
        return database_url, redis_url
    missing = "REDIS_URL" if database_url else "DATABASE_URL"
    if database_url or redis_url:
        raise ConfigurationError(
            f"{missing} is not set, but the other server's address is: set both, or neither to use "
            "those of a running `make dev`. The caches of one graph must not serve another."
        )
    running = _running_dev(state, missing)
    return running.database_url, running.redis_url
