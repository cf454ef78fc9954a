"""The settings of PostgreSQL, Redis and spaces."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, SecretStr
from pydantic_settings import NoDecode

from gateway.settings.fields import (
    A_DAY_S,
    Group,
    Names,
    WholeNumber,
    number,
    secret,
    setting,
)
from gateway.settings.parsers import (
    check_claim_path,
    check_redis_url,
    parse_plan_cache_mode,
    parse_space_sources,
)
from gateway.spaces.settings import SpaceSource
from storage.settings import CACHE_SCHEMES, PLAN_CACHE_MODES, REDIS_SCHEMES

RedisUrl = Annotated[SecretStr, AfterValidator(check_redis_url(REDIS_SCHEMES))]
CacheUrl = Annotated[SecretStr, AfterValidator(check_redis_url(CACHE_SCHEMES))]
PlanCacheMode = Annotated[str, PlainValidator(parse_plan_cache_mode)]
SpaceSources = Annotated[frozenset[SpaceSource], NoDecode, PlainValidator(parse_space_sources)]
ClaimPathText = Annotated[str, AfterValidator(check_claim_path)]


class PostgresVariables(Group):
    """PostgreSQL"""

    database_url: SecretStr | None = secret(
        "DATABASE_URL",
        "PostgreSQL. Without it and `REDIS_URL`: the servers of a running `dev`",
        allowed="`postgresql://user@host/database`",
    )
    direct_database_url: SecretStr | None = secret(
        "KITH_DIRECT_DATABASE_URL",
        "PostgreSQL without a [pooler](connections.md), for commands such as `migrate`, `load` and"
        " `verify`. Without it: `DATABASE_URL`",
        allowed="as `DATABASE_URL`",
    )
    database_password_file: Path | None = setting(
        "KITH_DATABASE_PASSWORD_FILE",
        None,
        "a file with the password of `DATABASE_URL`, read for each connection",
        allowed="a path",
    )
    pool_max: WholeNumber = number(
        "KITH_POOL_MAX",
        8,
        "PostgreSQL connections per process",
        unit="connections",
        minimum=1,
        maximum=100,
    )
    statement_cache_size: WholeNumber = number(
        "KITH_STATEMENT_CACHE_SIZE",
        200,
        "prepared statements per connection; none are used through a"
        " [pooler that does not support them](connections.md)",
        unit="statements",
        minimum=0,
    )
    plan_cache_mode: PlanCacheMode | None = setting(
        "KITH_PLAN_CACHE_MODE",
        None,
        "how PostgreSQL plans prepared statements. Without it: `auto` on [Citus](citus.md), else"
        " `force_generic_plan`",
        allowed=", ".join(f"`{mode}`" for mode in PLAN_CACHE_MODES),
    )


class ServerVariables(Group):
    """Redis, and metrics"""

    redis_url: RedisUrl | None = secret(
        "REDIS_URL",
        "Redis or Valkey: the queue, the change feed and the caches",
        allowed="`redis://`, `rediss://`, `unix://`, or [`redis+sentinel://`](connections.md#redis-with-sentinels)",
    )
    cache_url: CacheUrl | None = secret(
        "KITH_CACHE_URL",
        "separate servers for the caches: one, or any server of a Redis Cluster. Without it:"
        " `REDIS_URL`",
        allowed="as `REDIS_URL`, or `redis+cluster://`, `rediss+cluster://`",
    )
    metrics_port: WholeNumber = number(
        "KITH_METRICS_PORT",
        0,
        "the port of a worker's metrics; 0: none. For a gateway's, see `KITH_METRICS_ADDRESS`",
        unit="port",
        minimum=0,
        maximum=65_535,
    )


class SpaceVariables(Group):
    """Spaces

    [Several graphs](spaces.md) in one deployment.
    """

    names: Names = setting(
        "KITH_SPACES",
        (),
        "further spaces that a gateway and a worker serve, beside that of `--space`; names without"
        " a space are ignored",
        allowed="names, `,` between; `*`: all",
    )
    sources: SpaceSources = setting(
        "KITH_SPACE_FROM",
        frozenset({SpaceSource.PATH}),
        "the parts of a request that may name its space",
        allowed="`claim`, `header`, `path`, `,` between",
    )
    claim: ClaimPathText = setting(
        "KITH_JWT_SPACE_CLAIM",
        "space",
        "the claim with the name of the space, if `KITH_SPACE_FROM` has `claim`",
        allowed="a name or `$.path`",
    )
    open_max: WholeNumber = number(
        "KITH_SPACES_OPEN_MAX",
        50,
        "spaces that a gateway has open at once, or a worker serves, beside that of `--space`",
        unit="spaces",
        minimum=1,
        maximum=1_000,
    )
    idle_s: WholeNumber = number(
        "KITH_SPACE_IDLE_S",
        300,
        "how long after its last request a gateway closes a space",
        unit="s",
        minimum=1,
        maximum=A_DAY_S,
    )
    connections_max: WholeNumber = number(
        "KITH_SPACES_POOL_MAX",
        32,
        "PostgreSQL connections per process, of all spaces together, and never fewer than"
        " `KITH_POOL_MAX`, which limits those of one space",
        unit="connections",
        minimum=1,
        maximum=1_000,
    )
