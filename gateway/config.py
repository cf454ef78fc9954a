"""The configuration of a process, read once. The only module that reads the environment."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from devstack.state import Running, State, find_running
from gateway.authentication_settings import AuthenticationSettings
from gateway.browsers import ANY, BrowserSettings, read_header_names, read_origins
from gateway.connections import StreamLimits
from gateway.jwks_url import JwksUrl
from gateway.key_sources import DEVELOPMENT_SECRET
from gateway.token_claims import ClaimMapping
from gateway.trusted_documents import (
    ManifestError,
    TrustedDocuments,
    read_trusted_documents,
)
from graph.affinity import DEFAULT_SCALE, DEFAULT_WEIGHTS, InteractionKind, Scale
from graph.pace import Pace
from resolvers.scope import Limits
from storage.settings import CACHE_SCHEMES, CLUSTER, REDIS_SCHEMES, StorageSettings
from storage.space import checked_space


class ConfigurationError(Exception):
    """A variable is wrong or missing. The text names it and says what is allowed."""


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """Which documents are run, and which are known by id."""

    automatic: bool = True
    """Whether clients may persist documents by Apollo's automatic persisted queries."""
    trusted: TrustedDocuments | None = None
    """If set, only these documents are run."""


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a process."""

    storage: StorageSettings
    authentication: AuthenticationSettings
    limits: Limits
    metrics_port: int | None = None
    """The port of a worker's metrics. A gateway serves them at /metrics."""
    affinity: Scale = DEFAULT_SCALE
    streams: StreamLimits = field(default_factory=StreamLimits)
    browsers: BrowserSettings = field(default_factory=BrowserSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)


def read_config(
    state: Path,
    space: str,
    *,
    development: bool = False,
    trusted_documents: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The configuration from the environment, or from a running `dev` in `state`.

    `trusted_documents` replaces KITH_TRUSTED_DOCUMENTS.

    Raises:
        ConfigurationError: a value is wrong, or no server can be found.
    """
    env = os.environ if environ is None else environ
    return Config(
        storage=_storage(env, state, space),
        authentication=_authentication(env, development),
        limits=_limits(env),
        metrics_port=_integer(env, "KITH_METRICS_PORT", 0, 0, 65535) or None,
        affinity=Scale(_weights(env), _integer(env, "KITH_AFFINITY_HALF_LIFE_DAYS", 30, 1, 36_500)),
        streams=_streams(env),
        browsers=_browsers(env, development),
        documents=_documents(env, trusted_documents),
    )


def server_urls(environ: Mapping[str, str] | None = None) -> tuple[str | None, str | None]:
    """The PostgreSQL and Redis URLs in the environment, each None if not set."""
    env = os.environ if environ is None else environ
    return _text(env, "DATABASE_URL"), _text(env, "REDIS_URL")


def signing(environ: Mapping[str, str] | None = None) -> tuple[str, AuthenticationSettings]:
    """The secret that `token` signs with (the first one, or `dev`'s), and the token settings.

    Raises:
        ConfigurationError: no secret is configured, so tokens are signed elsewhere.
    """
    settings = _authentication(os.environ if environ is None else environ, development=True)
    if not settings.secrets:
        raise ConfigurationError(
            "KITH_JWT_SECRET is not set, so this command cannot sign a token. Sign tokens where "
            "the private key is."
        )
    return settings.secrets[0], settings


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment for a child process, with `changes`."""
    return {**os.environ, **changes}


def database_url(state: Path, environ: Mapping[str, str] | None = None) -> str:
    """The URL of PostgreSQL, from the environment or a running `dev`.

    Raises:
        ConfigurationError: neither is there.
    """
    return server_urls(environ)[0] or _found(state, "DATABASE_URL").database_url


def _found(state: Path, missing: str) -> Running:
    running = find_running(State(state))
    if running is None:
        raise ConfigurationError(
            f"{missing} is not set, and no `make dev` runs in {state}. Set it, start `make dev`, "
            "or name the folder of a running one with --state."
        )
    return running


def _storage(env: Mapping[str, str], state: Path, space: str) -> StorageSettings:
    given = dict(zip(("DATABASE_URL", "REDIS_URL"), server_urls(env), strict=True))
    if any(given.values()) and not all(given.values()):
        missing = next(name for name, url in given.items() if url is None)
        raise ConfigurationError(
            f"{missing} is not set, but the other server's address is: set both, or neither to use "
            "those of a running `make dev`. The caches of one graph must not serve another."
        )
    try:
        checked_space(space)
    except ValueError as error:
        raise ConfigurationError(f"--space: {error}") from None
    redis_url = server_urls(env)[1] or _found(state, "REDIS_URL").redis_url
    return StorageSettings(
        database_url=database_url(state, env),
        redis_url=_redis(redis_url, "REDIS_URL", REDIS_SCHEMES),
        cache_url=_cache_url(env),
        space=space,
        pool_max=_integer(env, "KITH_POOL_MAX", 8, 1, 100),
        statement_cache_size=_integer(env, "KITH_STATEMENT_CACHE_SIZE", 200, 0),
        cache_ttl_s=_integer(env, "KITH_CACHE_TTL_S", 3600, 1),
        hot_ttl_ms=_integer(env, "KITH_HOT_TTL_MS", 5_000, 0, 60_000),
        hot_bytes_max=_integer(env, "KITH_HOT_MB", 64, 1, 65_536) * 1_000_000,
        events_max=_integer(env, "KITH_EVENTS_MAX", 50_000, 100),
        events_kept_s=_integer(env, "KITH_EVENTS_KEPT_S", 86_400, 60),
        feed_max=_integer(env, "KITH_FEED_MAX", 1_000, 100, 100_000),
        feed_kept_s=_integer(env, "KITH_FEED_KEPT_S", 86_400, 60),
        subscriptions_max=_integer(env, "KITH_SUBSCRIPTIONS_MAX", 20_000, 1),
    )


def _cache_url(env: Mapping[str, str]) -> str | None:
    url = _text(env, "KITH_CACHE_URL")
    return _redis(url, "KITH_CACHE_URL", CACHE_SCHEMES) if url else None


def _redis(url: str, name: str, schemes: Collection[str]) -> str:
    scheme = url.partition(":")[0]
    if scheme not in schemes:
        raise ConfigurationError(
            f"{name} begins with {scheme!r}; it must be an address of {', '.join(schemes)}."
        )
    try:
        address = urlsplit(url)
        _ = address.port  # raises ValueError for an invalid port
    except ValueError:  # its text may hold a part of a password
        raise ConfigurationError(
            f"{name} cannot be read; it must look like {scheme}://user:password@host:6379, where "
            "special characters of a password are written as %XX."
        ) from None
    database = parse_qs(address.query).get("db", [address.path.strip("/")])[-1]
    if scheme.endswith(CLUSTER) and database not in ("", "0"):
        raise ConfigurationError(
            f"{name} names the database {database!r}, but of a Redis Cluster only 0 is used: leave "
            "it out."
        )
    return url


def _limits(env: Mapping[str, str]) -> Limits:
    per_minute = _integer(env, "KITH_CHANGES_PER_MINUTE", 120, 1, 60_000_000)
    return replace(
        Limits(),
        following_max=_integer(env, "KITH_FOLLOWING_LIMIT", 1000, 1),
        blocks_max=_integer(env, "KITH_BLOCK_LIMIT", 10_000, 1),
        pace=Pace(60_000_000 // per_minute, _integer(env, "KITH_CHANGES_BURST", 300, 1, 1_000_000)),
        mutual_approval=_is_on(env, "KITH_MUTUAL_APPROVAL"),
        whispers_hidden=_is_on(env, "KITH_WHISPERS_HIDDEN_FROM_TARGET"),
        freshness_wait_ms=_integer(env, "KITH_FRESHNESS_WAIT_MS", 1000, 0, 9000),
        undo_s=_integer(env, "KITH_UNDO_S", 900, 1, 86_400),
    )


def _streams(env: Mapping[str, str]) -> StreamLimits:
    return StreamLimits(
        connections_max=_integer(env, "KITH_CONNECTIONS_MAX", 5_000, 1),
        subscriptions_per_connection_max=_integer(
            env, "KITH_SUBSCRIPTIONS_PER_CONNECTION_MAX", 100, 1
        ),
        send_deadline_ms=_integer(env, "KITH_SEND_DEADLINE_MS", 5_000, 100, 60_000),
    )


def _browsers(env: Mapping[str, str], development: bool) -> BrowserSettings:
    origins = _listed(env, "KITH_CORS_ORIGINS", read_origins)
    credentials = _is_on(env, "KITH_CORS_CREDENTIALS")
    if credentials and ANY in origins:
        raise ConfigurationError(
            "KITH_CORS_ORIGINS is *, but KITH_CORS_CREDENTIALS is on: browsers refuse the two"
            " together. List the origins, or leave the credentials off."
        )
    headers = _listed(env, "KITH_CORS_HEADERS", read_header_names)
    if development:
        headers |= {"x-viewer"}
    return BrowserSettings(origins, credentials, headers, local=development)


def _listed(
    env: Mapping[str, str], name: str, read: Callable[[str], frozenset[str]]
) -> frozenset[str]:
    try:
        return read(env.get(name) or "")
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}.") from None


def _documents(env: Mapping[str, str], trusted: Path | None) -> DocumentSettings:
    automatic = _is_on(env, "KITH_PERSISTED_QUERIES", default="on")
    path = trusted or _path(env, "KITH_TRUSTED_DOCUMENTS")
    try:
        documents = None if path is None else read_trusted_documents(path)
    except ManifestError as error:
        raise ConfigurationError(f"The trusted documents cannot be used: {error}") from None
    return DocumentSettings(automatic, documents)


def _authentication(env: Mapping[str, str], development: bool) -> AuthenticationSettings:
    secrets = tuple(filter(None, (_text(env, "KITH_JWT_SECRET") or "").splitlines()))
    public_keys = tuple(map(Path, _list(env, "KITH_JWT_PUBLIC_KEY_FILE")))
    jwks_file, jwks_url = _path(env, "KITH_JWKS_FILE"), _jwks_url(env)
    if development and not (secrets or public_keys or jwks_file or jwks_url):
        secrets = (DEVELOPMENT_SECRET,)
    return AuthenticationSettings(
        secrets=secrets,
        public_key_files=public_keys,
        jwks_file=jwks_file,
        jwks_url=jwks_url,
        audiences=_list(env, "KITH_JWT_AUDIENCE"),
        issuers=_list(env, "KITH_JWT_ISSUER"),
        leeway_s=_integer(env, "KITH_JWT_LEEWAY_S", 30, 0, 300),
        claims=ClaimMapping(
            user=env.get("KITH_JWT_USER_CLAIM") or "sub",
            scope=env.get("KITH_JWT_SCOPE_CLAIM") or "scope",
            service_scope=env.get("KITH_JWT_SERVICE_SCOPE") or "service",
        ),
        allow_x_viewer=development,
        development=development,
    )


def _jwks_url(env: Mapping[str, str]) -> JwksUrl | None:
    url = env.get("KITH_JWKS_URL")
    refresh_s = _integer(env, "KITH_JWKS_REFRESH_S", 300, 10, 86_400)
    wait_ms = _integer(env, "KITH_JWKS_WAIT_MS", 2_000, 0, 9_000)
    return JwksUrl(url, refresh_s, wait_ms) if url else None


def _weights(env: Mapping[str, str]) -> Mapping[InteractionKind, float]:
    """The default weights, overridden by those given as `LIKED=3,MESSAGED=7.5`."""
    given = filter(None, env.get("KITH_AFFINITY_WEIGHTS", "").split(","))
    return {**DEFAULT_WEIGHTS, **dict(map(_weight, given))}


def _weight(text: str) -> tuple[InteractionKind, float]:
    name, _, number = text.strip().partition("=")
    is_number = re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", number) and float(number)
    if name in InteractionKind.__members__ and is_number:
        return InteractionKind[name], float(number)
    raise ConfigurationError(
        f"KITH_AFFINITY_WEIGHTS holds {text!r}; it must be KIND=WEIGHT pairs with commas between, "
        f"of the kinds {', '.join(InteractionKind.__members__)} and weights above 0, up to 999999."
    )


def _text(env: Mapping[str, str], name: str) -> str | None:
    """The value of a variable, or the content of the file in NAME_FILE (a mounted secret)."""
    file = _path(env, f"{name}_FILE")
    if env.get(name) or file is None:
        return env.get(name) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigurationError(
            f"{name}_FILE is {file}, which cannot be read: {error.strerror}."
        ) from None


def _list(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The values of a comma-separated variable."""
    return tuple(filter(None, (value.strip() for value in env.get(name, "").split(","))))


def _path(env: Mapping[str, str], name: str) -> Path | None:
    return Path(env[name]) if env.get(name) else None


def _is_on(env: Mapping[str, str], name: str, default: str = "off") -> bool:
    text = env.get(name) or default
    if text not in ("on", "off"):
        raise ConfigurationError(f"{name} is {text!r}; it must be on or off.")
    return text == "on"


def _integer(
    env: Mapping[str, str], name: str, default: int, least: int, most: int = 2**31 - 1
) -> int:
    text = env.get(name) or str(default)
    if text.isascii() and text.isdecimal() and least <= int(text) <= most:
        return int(text)
    raise ConfigurationError(f"{name} is {text!r}; it must be a whole number, {least} to {most}.")
