"""Every setting of Kith: an environment variable with its type, default, unit and help.

`gateway.settings.environment` reads the variables, and `gateway.settings.config` makes the
configuration of a process from them. `make settings` prints this file as docs/settings.md.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, PlainValidator, SecretStr, model_validator
from pydantic_settings import NoDecode

from gateway.graphql.exposure import Access
from gateway.http.addresses import Address
from gateway.http.browsers import ANY, read_header_names, read_origins
from gateway.http.client_address import read_proxies
from gateway.settings.fields import (
    Group,
    Names,
    Switch,
    WholeNumber,
    number,
    read_switch,
    secret,
    setting,
    switch,
)
from gateway.settings.parsers import (
    check_claim_path,
    check_redis_url,
    check_webhook_keys,
    read_access,
    read_address,
    read_level,
    read_networks,
    read_plan_cache_mode,
    read_space_sources,
    read_weights,
)
from gateway.spaces.names import SpaceSource
from graph.affinity import InteractionKind
from storage.settings import CACHE_SCHEMES, PLAN_CACHE_MODES, REDIS_SCHEMES
from workers.webhook_addresses import Network

RedisUrl = Annotated[SecretStr, AfterValidator(check_redis_url(REDIS_SCHEMES))]
CacheUrl = Annotated[SecretStr, AfterValidator(check_redis_url(CACHE_SCHEMES))]
Origins = Annotated[frozenset[str], NoDecode, PlainValidator(read_origins)]
HeaderNames = Annotated[frozenset[str], NoDecode, PlainValidator(read_header_names)]
Proxies = Annotated[frozenset[str], NoDecode, PlainValidator(read_proxies)]
Level = Annotated[str, PlainValidator(read_level)]
WebhookKeys = Annotated[SecretStr, AfterValidator(check_webhook_keys)]
Networks = Annotated[tuple[Network, ...], NoDecode, PlainValidator(read_networks)]
PlanCacheMode = Annotated[str, PlainValidator(read_plan_cache_mode)]
Weights = Annotated[Mapping[InteractionKind, float], NoDecode, PlainValidator(read_weights)]

AccessSetting = Annotated[Access | None, PlainValidator(read_access)]
OptionalSwitch = Annotated[bool | None, PlainValidator(read_switch)]
SpaceSources = Annotated[frozenset[SpaceSource], NoDecode, PlainValidator(read_space_sources)]
ClaimPathText = Annotated[str, AfterValidator(check_claim_path)]
MetricsAddress = Annotated[Address | None, PlainValidator(read_address)]

A_DAY_S = 86_400


class Postgres(Group):
    """PostgreSQL"""

    database_url: SecretStr | None = secret(
        "DATABASE_URL",
        "PostgreSQL. Without it and `REDIS_URL`: the servers of a running `dev`",
        allowed="`postgresql://user@host/database`",
    )
    direct_database_url: SecretStr | None = secret(
        "KITH_DIRECT_DATABASE_URL",
        "PostgreSQL without a [pooler](connections.md), for `migrate`, `load` and `verify`. Without"
        " it: `DATABASE_URL`",
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
        least=1,
        most=100,
    )
    statement_cache_size: WholeNumber = number(
        "KITH_STATEMENT_CACHE_SIZE",
        200,
        "prepared statements per connection; none are used through a"
        " [pooler that does not support them](connections.md)",
        unit="statements",
        least=0,
    )
    plan_cache_mode: PlanCacheMode | None = setting(
        "KITH_PLAN_CACHE_MODE",
        None,
        "how PostgreSQL plans prepared statements. Without it: `auto` on [Citus](citus.md), else"
        " `force_generic_plan`",
        allowed=", ".join(f"`{mode}`" for mode in PLAN_CACHE_MODES),
    )


class Servers(Group):
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
        "the port of a worker's metrics; 0: none. A gateway serves them at `/metrics`",
        unit="port",
        least=0,
        most=65_535,
    )


class TokenKeys(Group):
    """Keys of tokens

    The keys that verify [tokens](authentication.md). A gateway needs at least one of the first
    four.
    """

    secret: SecretStr | None = secret(
        "KITH_JWT_SECRET",
        "secrets of HS256, HS384 and HS512; `kith token` signs with the first",
        allowed="one a line, 32 bytes or more each",
    )
    public_key_files: Names = setting(
        "KITH_JWT_PUBLIC_KEY_FILE", (), "files of public keys in PEM", allowed="paths, `,` between"
    )
    jwks_file: Path | None = setting(
        "KITH_JWKS_FILE", None, "a file with a JSON Web Key Set", allowed="a path"
    )
    jwks_url: str | None = setting(
        "KITH_JWKS_URL",
        None,
        "the [key set of an identity provider](authentication.md#a-jwks-url), or its"
        " `/.well-known/openid-configuration`; requires `KITH_JWT_ISSUER` or `KITH_JWT_AUDIENCE`",
        allowed="`https://…`; `http://` for this machine",
    )
    jwks_refresh_s: WholeNumber = number(
        "KITH_JWKS_REFRESH_S",
        300,
        "how often the keys are fetched",
        least=10,
        most=A_DAY_S,
        unit="s",
    )
    jwks_wait_ms: WholeNumber = number(
        "KITH_JWKS_WAIT_MS",
        2_000,
        "how long a request whose token has an unknown key waits for a fetch",
        least=0,
        most=9_000,
        unit="ms",
    )
    jwks_kept_s: WholeNumber = number(
        "KITH_JWKS_KEPT_S",
        A_DAY_S,
        "how long the last keys stay in use while none can be fetched; 0: without a limit",
        least=0,
        most=30 * A_DAY_S,
        unit="s",
    )


class Spaces(Group):
    """Spaces

    [Several graphs](spaces.md) in one deployment.
    """

    names: Names = setting(
        "KITH_SPACES",
        (),
        "the spaces that a gateway and a worker serve beside that of `--space`, as far as they"
        " exist; without any: that one only",
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
        least=1,
        most=1_000,
    )
    idle_s: WholeNumber = number(
        "KITH_SPACE_IDLE_S",
        300,
        "how long after its last request a gateway closes a space",
        unit="s",
        least=1,
        most=A_DAY_S,
    )
    connections_max: WholeNumber = number(
        "KITH_SPACES_POOL_MAX",
        32,
        "PostgreSQL connections per process, of all spaces together, and never fewer than"
        " `KITH_POOL_MAX`, which limits those of one space",
        unit="connections",
        least=1,
        most=1_000,
    )


class Claims(Group):
    """Claims of tokens

    [The claims](authentication.md#claims) that a token must have, and what they mean.
    """

    issuers: Names = setting(
        "KITH_JWT_ISSUER", (), "accepted issuers; without any: all", allowed="text, `,` between"
    )
    audiences: Names = setting(
        "KITH_JWT_AUDIENCE", (), "accepted audiences; without any: all", allowed="text, `,` between"
    )
    leeway_s: WholeNumber = number(
        "KITH_JWT_LEEWAY_S", 30, "allowed clock difference", least=0, most=300, unit="s"
    )
    user: str = setting(
        "KITH_JWT_USER_CLAIM", "sub", "the claim with the user's id", allowed="a name or `$.path`"
    )
    scope: str = setting(
        "KITH_JWT_SCOPE_CLAIM", "scope", "the claim with the scopes", allowed="a name or `$.path`"
    )
    service_scope: str = setting(
        "KITH_JWT_SERVICE_SCOPE", "service", "the scope of a service", allowed="text"
    )


class Relationships(Group):
    """Relationships"""

    following_max: WholeNumber = number(
        "KITH_FOLLOWING_LIMIT", 1_000, "users that one account may follow", unit="users", least=1
    )
    blocks_max: WholeNumber = number(
        "KITH_BLOCK_LIMIT", 10_000, "users that one account may block", unit="users", least=1
    )
    changes_per_minute: WholeNumber = number(
        "KITH_CHANGES_PER_MINUTE",
        120,
        "sustained rate of changes per account",
        least=1,
        most=60_000_000,
        unit="changes a minute",
    )
    changes_burst: WholeNumber = number(
        "KITH_CHANGES_BURST",
        300,
        "changes per account at once",
        unit="changes",
        least=1,
        most=1_000_000,
    )
    mutual_approval: Switch = switch(
        "KITH_MUTUAL_APPROVAL",
        False,
        "whether every account approves its followers, and then both follow each other",
    )
    whispers_hidden: Switch = switch(
        "KITH_WHISPERS_HIDDEN_FROM_TARGET",
        False,
        "whether a [whisper](whispers.md) is hidden from the followed user too",
    )
    undo_s: WholeNumber = number(
        "KITH_UNDO_S",
        900,
        "how long a change can be [undone](undo.md); set it for workers too, which then purge the"
        " messages of requests",
        least=1,
        most=A_DAY_S,
        unit="s",
    )


class Affinity(Group):
    """Affinity

    How [interactions](affinity.md) count.
    """

    weights: Weights = setting(
        "KITH_AFFINITY_WEIGHTS",
        {},
        "weights that replace the defaults of single kinds",
        allowed="`LIKED=3,MESSAGED=7.5`",
    )
    half_life_days: WholeNumber = number(
        "KITH_AFFINITY_HALF_LIFE_DAYS",
        30,
        "half-life of an interaction's weight; permanent after the first recorded interaction",
        least=1,
        most=36_500,
        unit="days",
    )


class Caches(Group):
    """Caches and freshness"""

    freshness_wait_ms: WholeNumber = number(
        "KITH_FRESHNESS_WAIT_MS",
        1_000,
        "how long a request with a [consistency token](freshness.md) waits before it fails with"
        " `STALE`",
        least=0,
        most=9_000,
        unit="ms",
    )
    cache_ttl_s: WholeNumber = number(
        "KITH_CACHE_TTL_S",
        3_600,
        "the longest TTL of a cached value; of an account and totals, 300 s at most",
        least=1,
        unit="s",
    )
    delayed_writes: Switch = switch(
        "KITH_DELAYED_WRITES",
        True,
        "whether changes are made while the caches are unavailable: their writers may [see them"
        " late](freshness.md#the-writer-sees-the-write). If not, they fail with `UNAVAILABLE`",
    )
    hot_ttl_ms: WholeNumber = number(
        "KITH_HOT_TTL_MS",
        5_000,
        "TTL of hot users in the local cache; 0 disables it",
        least=0,
        most=60_000,
        unit="ms",
    )
    hot_mb: WholeNumber = number(
        "KITH_HOT_MB", 64, "size of the local cache", least=1, most=65_536, unit="MB"
    )


class Events(Group):
    """Events"""

    events_max: WholeNumber = number(
        "KITH_EVENTS_MAX",
        50_000,
        "events that each of the eight streams of the [change feed](events.md#the-change-feed)"
        " keeps",
        unit="events",
        least=100,
    )
    events_kept_s: WholeNumber = number(
        "KITH_EVENTS_KEPT_S", A_DAY_S, "how long the change feed keeps them", least=60, unit="s"
    )
    feed_max: WholeNumber = number(
        "KITH_FEED_MAX",
        1_000,
        "events that a subscriber's feed keeps",
        unit="events",
        least=100,
        most=100_000,
    )
    feed_kept_s: WholeNumber = number(
        "KITH_FEED_KEPT_S",
        A_DAY_S,
        "how long after the subscriber's last read",
        least=60,
        unit="s",
    )


class Webhooks(Group):
    """Webhooks

    For workers, and for `kith webhooks`. See [webhooks](webhooks.md).
    """

    keys: WebhookKeys | None = secret(
        "KITH_WEBHOOKS_KEYS",
        "keys that encrypt the [secrets](security.md#secrets-of-webhooks) of endpoints; the first"
        " one encrypts, and all decrypt. Without any, nothing is delivered",
        allowed="one a line, 32 bytes or more each",
    )
    networks: Networks = setting(
        "KITH_WEBHOOKS_NETWORKS",
        (),
        "private networks that endpoints may be in",
        allowed="networks such as `10.1.0.0/16`, separated by commas",
    )
    http: Switch = switch(
        "KITH_WEBHOOKS_HTTP", False, "whether URLs of endpoints may begin with `http:`"
    )
    timeout_ms: WholeNumber = number(
        "KITH_WEBHOOKS_TIMEOUT_MS",
        10_000,
        "for one attempt: name resolution, connection, request and response",
        unit="ms",
        least=100,
        most=60_000,
    )
    retried_s: WholeNumber = number(
        "KITH_WEBHOOKS_RETRIED_S",
        A_DAY_S,
        "how long a delivery is tried before it is parked",
        unit="s",
        least=0,
        most=7 * A_DAY_S,
    )
    disabled_s: WholeNumber = number(
        "KITH_WEBHOOKS_DISABLED_S",
        3 * A_DAY_S,
        "how long every attempt must have failed before the endpoint is disabled",
        unit="s",
        least=60,
    )
    kept_s: WholeNumber = number(
        "KITH_WEBHOOKS_KEPT_S",
        7 * A_DAY_S,
        "how long deliveries are kept: delivered and parked ones in the log, and those of a paused"
        " endpoint",
        unit="s",
        least=60,
    )


class HttpConnections(Group):
    """HTTP connections

    Limits that hold for every [connection](security.md#connections) of a gateway.
    """

    connections_max: WholeNumber = number(
        "KITH_HTTP_CONNECTIONS_MAX",
        10_000,
        "open connections per process, web sockets included; one that waits for its client is"
        " closed for a new one",
        unit="connections",
        least=10,
        most=1_000_000,
    )
    head_deadline_ms: WholeNumber = number(
        "KITH_HEADER_DEADLINE_MS",
        10_000,
        "how long a request's headers may take to arrive",
        unit="ms",
        least=100,
        most=60_000,
    )
    body_deadline_ms: WholeNumber = number(
        "KITH_BODY_DEADLINE_MS",
        10_000,
        "how long a request's body may take to arrive",
        unit="ms",
        least=100,
        most=60_000,
    )
    idle_s: WholeNumber = number(
        "KITH_IDLE_S",
        75,
        "how long a connection without requests stays open; more than the proxy in front keeps its"
        " own",
        unit="s",
        least=1,
        most=3_600,
    )
    stall_ms: WholeNumber = number(
        "KITH_STALL_MS",
        30_000,
        "how long a client may read nothing of a response before it is disconnected",
        unit="ms",
        least=100,
        most=600_000,
    )


class HttpRequests(Group):
    """HTTP requests

    Limits of what one request may contain.
    """

    url_bytes_max: WholeNumber = number(
        "KITH_URL_BYTES_MAX",
        16_384,
        "size of a request's URL",
        unit="bytes",
        least=1_024,
        most=1_048_576,
    )
    head_bytes_max: WholeNumber = number(
        "KITH_HEADER_BYTES_MAX",
        32_768,
        "size of a request's URL and headers together",
        unit="bytes",
        least=4_096,
        most=1_048_576,
    )
    headers_max: WholeNumber = number(
        "KITH_HEADERS_MAX", 100, "headers of a request", unit="headers", least=10, most=10_000
    )
    bodies_mb: WholeNumber = number(
        "KITH_BODIES_MB",
        64,
        "memory for bodies that have arrived in part, per process",
        unit="MB",
        least=1,
        most=65_536,
    )


class Overload(Group):
    """Overload

    Which operations run at once, and which [wait or are rejected](security.md#overload).
    """

    cost_max: WholeNumber = number(
        "KITH_CONCURRENT_COST",
        400_000,
        "[cost](cost.md) of the large operations that run at once, per process; small ones have 3/8"
        " of it besides. An operation that costs more runs alone",
        unit="cost",
        least=1_000,
    )
    queue_max: WholeNumber = number(
        "KITH_QUEUE_MAX",
        100,
        "operations that wait, of each class",
        unit="operations",
        least=0,
        most=10_000,
    )
    wait_ms: WholeNumber = number(
        "KITH_QUEUE_WAIT_MS", 1_000, "the longest wait", unit="ms", least=1, most=9_000
    )


class Verification(Group):
    """Verification"""

    rows_per_minute: WholeNumber = number(
        "KITH_VERIFY_ROWS_PER_MINUTE",
        100_000,
        "how many rows the workers [verify](operations.md#scheduled-verification) in a minute; 0:"
        " none",
        least=0,
        most=10_000_000,
        unit="rows a minute",
    )


class Streams(Group):
    """Open connections"""

    connections_max: WholeNumber = number(
        "KITH_CONNECTIONS_MAX",
        5_000,
        "web sockets and event streams per process",
        unit="connections",
        least=1,
    )
    subscriptions_max: WholeNumber = number(
        "KITH_SUBSCRIPTIONS_MAX",
        20_000,
        "[subscriptions](events.md) per process",
        unit="subscriptions",
        least=1,
    )
    subscriptions_per_connection_max: WholeNumber = number(
        "KITH_SUBSCRIPTIONS_PER_CONNECTION_MAX",
        100,
        "subscriptions per web socket",
        unit="subscriptions",
        least=1,
    )
    send_deadline_ms: WholeNumber = number(
        "KITH_SEND_DEADLINE_MS",
        5_000,
        "how long a client may leave a message unread before it is disconnected",
        least=100,
        most=60_000,
        unit="ms",
    )
    exports_max: WholeNumber = number(
        "KITH_EXPORTS_MAX",
        4,
        "[exports of lists](exports.md) at once, per process",
        unit="streams",
        least=0,
        most=100,
    )
    change_streams_max: WholeNumber = number(
        "KITH_CHANGE_STREAMS_MAX",
        20,
        "streams of the [change feed over HTTP](exports.md#the-change-feed) at once, per process",
        unit="streams",
        least=0,
        most=1_000,
    )


class Browsers(Group):
    """Browsers

    Which [other origins](browsers.md#origins) may send requests.
    """

    origins: Origins = setting(
        "KITH_CORS_ORIGINS",
        frozenset(),
        "origins whose pages may send requests",
        allowed="`https://app.example.com`, `,` between; `*`: all",
    )
    headers: HeaderNames = setting(
        "KITH_CORS_HEADERS",
        frozenset(),
        "request headers that they may set besides the usual ones",
        allowed="names, `,` between",
    )
    credentials: Switch = switch(
        "KITH_CORS_CREDENTIALS", False, "whether their requests may carry credentials"
    )

    @model_validator(mode="after")
    def _check(self) -> "Browsers":
        if self.credentials and ANY in self.origins:
            raise ValueError(
                "KITH_CORS_ORIGINS is *, but KITH_CORS_CREDENTIALS is on: browsers reject the two"
                " together. List the origins, or leave the credentials off"
            )
        return self


class Costs(Group):
    """Costs

    [What operations cost](cost.md). A cost of 1 is about 1 µs of CPU time.
    """

    limit: WholeNumber = number(
        "KITH_COST_LIMIT", 100_000, "the greatest cost of one operation", unit="cost", least=1_000
    )
    response_bytes_max: WholeNumber = number(
        "KITH_RESPONSE_BYTES_MAX",
        8_000_000,
        "the maximum length of a response, estimated while it is built; services too",
        unit="bytes",
        least=10_000,
    )
    service_limit: WholeNumber = number(
        "KITH_SERVICE_COST_LIMIT",
        1_000_000,
        "the same for services",
        unit="cost",
        least=1_000,
    )
    budget: WholeNumber = number(
        "KITH_BUDGET",
        20_000_000,
        "the cost that one viewer may use in a minute; 0: no limit",
        unit="cost",
        least=0,
    )
    anonymous_budget: WholeNumber = number(
        "KITH_ANONYMOUS_BUDGET",
        60_000_000,
        "the same for one address, of requests without a viewer",
        unit="cost",
        least=0,
    )
    service_budget: WholeNumber = number(
        "KITH_SERVICE_BUDGET",
        600_000_000,
        "the same for each service, named by `client_id` or `azp` of its token",
        unit="cost",
        least=0,
    )
    trusted_proxies: Proxies = setting(
        "KITH_TRUSTED_PROXIES",
        frozenset(),
        "proxies whose `X-Forwarded-For` or `Forwarded` names the address of a client",
        allowed="addresses and networks, `,` between; `unix`: by unix sockets",
    )

    @model_validator(mode="after")
    def _check(self) -> "Costs":
        budgets = {
            "KITH_BUDGET": (self.budget, self.limit),
            "KITH_ANONYMOUS_BUDGET": (self.anonymous_budget, self.limit),
            "KITH_SERVICE_BUDGET": (self.service_budget, self.service_limit),
        }
        for name, (budget, limit) in budgets.items():
            if 0 < budget < limit:
                raise ValueError(
                    f"{name} is {budget}, but one operation may cost {limit}: a budget must be at"
                    " least as high, or 0"
                )
        return self


class Exposed(Group):
    """What a gateway shows

    Everything in `dev`. In `serve`, what is [chosen here](security.md#what-serve-shows).
    """

    introspection: AccessSetting = setting(
        "KITH_INTROSPECTION",
        None,
        "who may select `__schema` and `__type`. In `dev` `on`, in `serve` `off`",
        allowed="off, services or on",
    )
    sdl: AccessSetting = setting(
        "KITH_FEDERATION_SDL",
        None,
        "who may select `_service`, which a [federation](federation.md) router can read. In `dev`"
        " `on`, in `serve` `off`",
        allowed="off, services or on",
    )
    suggestions: OptionalSwitch = setting(
        "KITH_SUGGESTIONS",
        None,
        "whether errors suggest names of the schema. In `dev` `on`, in `serve` `off`",
        allowed="on or off",
    )
    playground: OptionalSwitch = setting(
        "KITH_PLAYGROUND",
        None,
        "whether browsers get the [playground](playground.md). In `dev` `on`, in `serve` `off`",
        allowed="on or off",
    )
    metrics_address: MetricsAddress = setting(
        "KITH_METRICS_ADDRESS",
        None,
        "an address of its own for a gateway's `/metrics`; without it, `serve` shows none",
        allowed="`host:port` or `unix:/path`",
    )
    metrics_token: SecretStr | None = secret(
        "KITH_METRICS_TOKEN",
        "a bearer token that `/metrics` of a gateway requires",
        allowed="text",
    )


class Documents(Group):
    """Documents"""

    persisted_queries: Switch = switch(
        "KITH_PERSISTED_QUERIES",
        True,
        "[automatic persisted queries](persisted-operations.md#automatic-persisted-queries)",
    )
    trusted_documents: Path | None = setting(
        "KITH_TRUSTED_DOCUMENTS",
        None,
        "a manifest, or a folder of them: [no other"
        " documents](persisted-operations.md#trusted-documents) are run; as"
        " `serve --trusted-documents`",
        allowed="a path",
    )


class Traces(Group):
    """Traces

    The address of an OpenTelemetry collector turns [traces](traces.md) on. OpenTelemetry reads its
    other standard variables itself.
    """

    endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        None,
        "a collector that receives OTLP over HTTP; it requires the extra `kith[otel]`",
        allowed="`http://…` or `https://…`",
    )
    traces_endpoint: str | None = setting(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        None,
        "the same, for traces alone, with the path",
        allowed="`http://…/v1/traces`",
    )
    disabled: str = setting(
        "OTEL_SDK_DISABLED", "false", "turns traces off", allowed="`true` or `false`"
    )


class Logs(Group):
    """Logs

    What [the log](operations.md#the-log) holds.
    """

    level: Level = setting(
        "KITH_LOG_LEVEL",
        "info",
        "the least severe level that is logged",
        allowed="`debug`, `info`, `warning`, `error`",
    )
    slow_operation_ms: WholeNumber = number(
        "KITH_SLOW_OPERATION_MS",
        1_000,
        "operations that take as long are [logged](operations.md#slow-operations); 0: none are",
        unit="ms",
        least=0,
        most=60_000,
    )
    operation_names_max: WholeNumber = number(
        "KITH_METRICS_OPERATIONS_MAX",
        50,
        "operation names with [metrics](metrics.md#requests) of their own, per process",
        unit="names",
        least=1,
        most=1_000,
    )


GROUPS: tuple[type[Group], ...] = (
    Postgres,
    Servers,
    Spaces,
    TokenKeys,
    Claims,
    Relationships,
    Affinity,
    Caches,
    Events,
    Webhooks,
    Verification,
    HttpConnections,
    HttpRequests,
    Overload,
    Streams,
    Browsers,
    Costs,
    Exposed,
    Documents,
    Traces,
    Logs,
)
