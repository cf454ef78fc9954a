"""Settings from the environment. An invalid or unknown one prevents the start with an error."""

from pathlib import Path

import pytest

from gateway.authentication.identify import (
    DEVELOPMENT_SECRET,
    Authentication,
    AuthenticationSettings,
)
from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.settings import AcceptedTokens
from gateway.authentication.token_claims import ClaimMapping
from gateway.http.browsers import BrowserSettings
from gateway.settings.client_config import DocumentSettings
from gateway.settings.config import Config, read_config
from gateway.settings.declarations.groups import GROUPS
from gateway.settings.declarations.servers import PostgresVariables
from gateway.settings.environment import ConfigurationError, read, variable_names
from gateway.settings.fields import unit_of
from gateway.settings.server_config import direct_database
from gateway.settings.token_config import signing
from graph.affinity import DEFAULT_WEIGHTS, InteractionKind
from graph.pace import Pace
from resolvers.policy import Policy
from storage.settings import StorageSettings

NO_STATE = Path("/nonexistent/state")
SERVERS = {"DATABASE_URL": "postgresql://db/kith", "REDIS_URL": "redis://cache"}


def test_the_servers_are_taken_from_the_environment() -> None:
    config = read_config(NO_STATE, "shop", environ=SERVERS)
    assert config.storage.database_url == "postgresql://db/kith"
    assert config.storage.redis_url == "redis://cache"
    assert config.storage.space == "shop"


def test_the_caches_may_have_a_separate_server() -> None:
    assert read_config(NO_STATE, "shop", environ=SERVERS).storage.cache.url is None
    environ = {**SERVERS, "KITH_CACHE_URL": "redis+cluster://caches:7000"}
    assert read_config(NO_STATE, "shop", environ=environ).storage.cache.url == (
        "redis+cluster://caches:7000"
    )


@pytest.mark.parametrize("name", ["REDIS_URL", "KITH_CACHE_URL"])
@pytest.mark.parametrize("url", ["caches:7000", "http://caches"])
def test_an_invalid_redis_url_is_an_error_that_names_the_variable(name: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} begins with .* redis, rediss, unix"):
        read_config(NO_STATE, "shop", environ={**SERVERS, name: url})


@pytest.mark.parametrize("tail", ["/1", "?db=1", "/caches", "/0?db=2"])
@pytest.mark.parametrize("scheme", ["redis+cluster", "rediss+cluster"])
def test_the_url_of_a_cluster_may_not_name_another_database_than_0(scheme: str, tail: str) -> None:
    url = f"{scheme}://:secret@caches:7000{tail}"
    with pytest.raises(ConfigurationError, match="KITH_CACHE_URL names the database") as rejected:
        read_config(NO_STATE, "shop", environ={**SERVERS, "KITH_CACHE_URL": url})
    assert "secret" not in str(rejected.value)
    for database_0 in ("", "/", "/0", "?db=0", "/0?ssl_ca_certs=/ca.pem"):
        url = f"{scheme}://:secret@caches:7000{database_0}"
        environ = {**SERVERS, "KITH_CACHE_URL": url}
        assert read_config(NO_STATE, "shop", environ=environ).storage.cache.url == url
    single = {**SERVERS, "KITH_CACHE_URL": "redis://caches:7000/1"}
    assert read_config(NO_STATE, "shop", environ=single).storage.cache.url


@pytest.mark.parametrize(
    "url", ["redis://caches:70000", "redis://:hunter/2@caches", "redis://[::1"]
)
def test_the_error_for_a_malformed_url_does_not_show_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="REDIS_URL cannot be read") as rejected:
        read_config(NO_STATE, "shop", environ={**SERVERS, "REDIS_URL": url})
    assert "hunter" not in str(rejected.value)


def test_the_server_of_the_queue_may_not_be_a_cluster() -> None:
    environ = {**SERVERS, "REDIS_URL": "redis+cluster://caches:7000"}
    with pytest.raises(ConfigurationError, match="REDIS_URL begins with 'redis\\+cluster'"):
        read_config(NO_STATE, "shop", environ=environ)


@pytest.mark.parametrize("missing", ["DATABASE_URL", "REDIS_URL"])
def test_a_missing_server_is_an_error_that_names_the_variable(missing: str) -> None:
    environ = {name: url for name, url in SERVERS.items() if name != missing}
    with pytest.raises(ConfigurationError, match=f"{missing} is not set"):
        read_config(NO_STATE, "public", environ=environ)


def test_a_value_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://db/from-a-file\n")
    environ = {"DATABASE_URL_FILE": str(file)}
    assert direct_database(NO_STATE, environ).url == "postgresql://db/from-a-file"


def test_the_error_for_an_unreadable_file_names_it() -> None:
    with pytest.raises(ConfigurationError, match="KITH_JWT_SECRET_FILE is /nonexistent"):
        signing({"KITH_JWT_SECRET_FILE": "/nonexistent"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KITH_FOLLOWING_LIMIT", "0"),
        ("KITH_FOLLOWING_LIMIT", "many"),
        ("KITH_POOL_MAX", "-1"),
        ("KITH_POOL_MAX", "101"),
        ("KITH_EVENTS_MAX", "99"),
        ("KITH_FEED_MAX", "100001"),
        ("KITH_SEND_DEADLINE_MS", "0"),
        ("KITH_SUBSCRIPTIONS_MAX", "0"),
        ("KITH_METRICS_PORT", "65536"),
        ("KITH_HOT_TTL_MS", "60001"),
        ("KITH_HOT_MB", "0"),
        ("KITH_CACHE_TTL_S", "1.5"),
        ("KITH_JWT_LEEWAY_S", "301"),
        ("KITH_JWKS_REFRESH_S", "9"),
        ("KITH_JWKS_WAIT_MS", "9001"),
        ("KITH_JWKS_KEPT_S", "-1"),
    ],
)
def test_an_invalid_number_is_an_error_that_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is '{value}'; it must be a whole number"):
        read_config(NO_STATE, "public", environ={**SERVERS, name: value})


def test_local_cache_settings_are_in_milliseconds_and_megabytes() -> None:
    environ = {**SERVERS, "KITH_HOT_TTL_MS": "0", "KITH_HOT_MB": "3"}
    storage = read_config(NO_STATE, "public", environ=environ).storage
    assert (storage.local.ttl_ms, storage.local.bytes_max) == (0, 3_000_000)


def test_weights_of_interactions_that_are_not_set_keep_their_defaults() -> None:
    environ = {
        **SERVERS,
        "KITH_AFFINITY_WEIGHTS": "LIKED=3, MESSAGED=7.5",
        "KITH_AFFINITY_HALF_LIFE_DAYS": "7",
    }
    scale = read_config(NO_STATE, "public", environ=environ).affinity
    assert scale.half_life_days == 7
    assert scale.weights == {
        **DEFAULT_WEIGHTS,
        InteractionKind.LIKED: 3,
        InteractionKind.MESSAGED: 7.5,
    }


@pytest.mark.parametrize(
    "text", ["LIKED", "LIKED=", "LIKED=0", "LIKED=-1", "LIKED=1e9", "HUGGED=1"]
)
def test_an_invalid_weight_is_an_error_that_lists_the_interactions(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"KITH_AFFINITY_WEIGHTS holds '{text}'.*MESSAGED"):
        read_config(NO_STATE, "public", environ={**SERVERS, "KITH_AFFINITY_WEIGHTS": text})


@pytest.mark.parametrize("space", ["", "Shop", "1shop", "pg_shop", "shop;drop", "s" * 32])
def test_an_invalid_name_of_a_space_is_an_error(space: str) -> None:
    with pytest.raises(ConfigurationError, match="--space"):
        read_config(NO_STATE, space, environ=SERVERS)


def test_the_development_secret_is_rejected_outside_development() -> None:
    development = read_config(NO_STATE, "public", development=True, environ=SERVERS)
    assert development.authentication.secrets == (DEVELOPMENT_SECRET,)
    Authentication(development.authentication)
    for environ in (SERVERS, {**SERVERS, "KITH_JWT_SECRET": DEVELOPMENT_SECRET}):
        with pytest.raises(ValueError, match="KITH_JWT"):
            Authentication(read_config(NO_STATE, "public", environ=environ).authentication)


def test_every_setting_of_tokens_is_read(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("the new secret\n\nthe old secret\n")
    environ = {
        "KITH_JWT_SECRET_FILE": str(secrets),
        "KITH_JWT_PUBLIC_KEY_FILE": "new.pem, old.pem",
        "KITH_JWKS_FILE": "jwks.json",
        "KITH_JWKS_URL": "https://login.example/jwks",
        "KITH_JWKS_REFRESH_S": "60",
        "KITH_JWKS_WAIT_MS": "0",
        "KITH_JWKS_KEPT_S": "3600",
        "KITH_JWT_ISSUER": "https://login.example,https://old.example",
        "KITH_JWT_AUDIENCE": "kith,",
        "KITH_JWT_LEEWAY_S": "0",
        "KITH_JWT_USER_CLAIM": "$.app.user",
        "KITH_JWT_SCOPE_CLAIM": "roles",
        "KITH_JWT_SERVICE_SCOPE": "back-end",
    }
    settings = read_config(NO_STATE, "public", environ={**SERVERS, **environ}).authentication
    assert settings == AuthenticationSettings(
        secrets=("the new secret", "the old secret"),
        public_key_files=(Path("new.pem"), Path("old.pem")),
        jwks_file=Path("jwks.json"),
        jwks_url=JwksUrl("https://login.example/jwks", 60, 0, kept_s=3600),
        accepted=AcceptedTokens(("kith",), ("https://login.example", "https://old.example"), 0),
        claims=ClaimMapping("$.app.user", "roles", "back-end"),
    )


@pytest.mark.parametrize(
    "environ",
    [
        {"KITH_JWT_SECRET": "a secret of at least thirty-two bytes"},
        {"KITH_JWKS_URL": "https://login.example/jwks"},
        {"KITH_JWT_PUBLIC_KEY_FILE": "key.pem"},
    ],
)
def test_the_development_secret_is_not_added_to_keys_that_are_set(environ: dict[str, str]) -> None:
    config = read_config(NO_STATE, "public", development=True, environ={**SERVERS, **environ})
    assert DEVELOPMENT_SECRET not in config.authentication.secrets


def test_signing_a_token_requires_a_secret() -> None:
    assert signing({})[0] == DEVELOPMENT_SECRET
    assert signing({"KITH_JWT_SECRET": "new\nold"})[0] == "new"
    with pytest.raises(ConfigurationError, match="KITH_JWT_SECRET is not set"):
        signing({"KITH_JWKS_FILE": "jwks.json"})


def test_setting_only_one_of_two_servers_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="REDIS_URL is not set, but the other"):
        read_config(NO_STATE, "public", environ={"DATABASE_URL": "postgresql://db/kith"})


def test_every_setting_of_the_policy_is_read() -> None:
    environ = {
        "KITH_FOLLOWING_LIMIT": "5",
        "KITH_BLOCK_LIMIT": "6",
        "KITH_CHANGES_PER_MINUTE": "60",
        "KITH_CHANGES_BURST": "7",
        "KITH_MUTUAL_APPROVAL": "on",
        "KITH_WHISPERS_HIDDEN_FROM_TARGET": "on",
        "KITH_UNDO_S": "60",
        "KITH_FRESHNESS_WAIT_MS": "0",
    }
    config = read_config(NO_STATE, "public", environ={**SERVERS, **environ})
    assert config.storage.events.whispers_hidden
    assert config.policy == Policy(
        following_max=5,
        blocks_max=6,
        pace=Pace(interval_us=1_000_000, burst=7),
        mutual_approval=True,
        whispers_hidden=True,
        undo_s=60,
        freshness_wait_ms=0,
    )
    assert read_config(NO_STATE, "public", environ=SERVERS).policy == Policy()


def test_a_switch_must_be_on_or_off() -> None:
    environ = {**SERVERS, "KITH_MUTUAL_APPROVAL": "yes"}
    with pytest.raises(ConfigurationError, match="KITH_MUTUAL_APPROVAL is 'yes'; it must be on"):
        read_config(NO_STATE, "public", environ=environ)


def test_origins_are_stored_as_browsers_send_them() -> None:
    environ = {
        **SERVERS,
        "KITH_CORS_ORIGINS": "https://App.example:443, http://localhost:5173,capacitor://localhost,"
        "http://[::1]:80,",
        "KITH_CORS_HEADERS": "X-Tenant",
        "KITH_CORS_CREDENTIALS": "on",
    }
    assert read_config(NO_STATE, "public", environ=environ).clients.browsers == BrowserSettings(
        frozenset(
            {
                "https://app.example",
                "http://localhost:5173",
                "capacitor://localhost",
                "http://[::1]",
            }
        ),
        credentials=True,
        headers=frozenset({"x-tenant"}),
    )
    assert read_config(NO_STATE, "public", environ=SERVERS).clients.browsers == BrowserSettings()
    development = read_config(
        NO_STATE, "public", development=True, environ=SERVERS
    ).clients.browsers
    assert development == BrowserSettings(headers=frozenset({"x-viewer"}), local=True)


@pytest.mark.parametrize(
    "origin",
    [
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/path",
        "https://app.example?x",
        "https://user@app.example",
        "https://*.example",
        "https://bücher.example",
        "https://app.example:99999",
        "https://app.example:x",
        "https://app.example https://other.example",
        "null",
        "//app.example",
        "x" * 5_000,
    ],
)
def test_an_invalid_origin_is_an_error_with_a_valid_example(origin: str) -> None:
    environ = {**SERVERS, "KITH_CORS_ORIGINS": f"https://other.example,{origin}"}
    with pytest.raises(
        ConfigurationError, match=r"KITH_CORS_ORIGINS holds .* http://localhost:5173"
    ):
        read_config(NO_STATE, "public", environ=environ)


def test_credentials_for_any_origin_are_an_error() -> None:
    environ = {**SERVERS, "KITH_CORS_ORIGINS": "*"}
    assert read_config(NO_STATE, "public", environ=environ).clients.browsers.origins == {"*"}
    with pytest.raises(ConfigurationError, match=r"KITH_CORS_ORIGINS is \*, but KITH_CORS_CREDENT"):
        read_config(NO_STATE, "public", environ={**environ, "KITH_CORS_CREDENTIALS": "on"})


def test_too_many_origins_and_other_invalid_client_settings_are_errors() -> None:
    many = ",".join(f"https://app{number}.example" for number in range(101))
    for name, value in (
        ("KITH_CORS_ORIGINS", many),
        ("KITH_CORS_HEADERS", "x y"),
        ("KITH_CORS_HEADERS", "x" * 101),
        ("KITH_CORS_CREDENTIALS", "yes"),
        ("KITH_PERSISTED_QUERIES", "yes"),
    ):
        with pytest.raises(ConfigurationError, match=name):
            read_config(NO_STATE, "public", environ={**SERVERS, name: value})


def test_persisted_queries_are_on_by_default_and_may_be_switched_off() -> None:
    assert read_config(NO_STATE, "public", environ=SERVERS).clients.documents == DocumentSettings()
    environ = {**SERVERS, "KITH_PERSISTED_QUERIES": "off"}
    assert not read_config(NO_STATE, "public", environ=environ).clients.documents.automatic


def test_settings_have_the_defaults_of_the_objects_that_they_fill() -> None:
    assert read_config(NO_STATE, "public", environ=SERVERS) == Config(
        StorageSettings(SERVERS["DATABASE_URL"], SERVERS["REDIS_URL"]),
        AuthenticationSettings(),
        Policy(),
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("KITH_POOLMAX", "Did you mean KITH_POOL_MAX?"),
        ("KITH_JWT_SECRETS_FILE", "Did you mean KITH_JWT_SECRET_FILE?"),
        ("KITH_METRIC_PORT", "Did you mean KITH_METRICS_PORT?"),
        ("KITH_SPACE", "Use the option --space."),
        ("KITH_XYZZY", "docs/settings.md lists all settings."),
    ],
)
def test_an_unknown_variable_is_an_error_that_suggests_the_nearest_name(
    name: str, hint: str
) -> None:
    environ = {**SERVERS, name: "1"}
    for command in (
        lambda: read_config(NO_STATE, "public", environ=environ),
        lambda: signing(environ),
        lambda: direct_database(NO_STATE, environ),
    ):
        with pytest.raises(ConfigurationError) as rejected:
            command()
        assert str(rejected.value) == f"{name} is not a setting. {hint}"


def test_variables_of_kubernetes_and_of_other_programs_are_ignored() -> None:
    environ = {
        "KITH_PORT": "tcp://10.0.0.7:8000",
        "KITH_PORT_8000_TCP": "tcp://10.0.0.7:8000",
        "KITH_PORT_8000_TCP_ADDR": "10.0.0.7",
        "KITH_SERVICE_HOST": "10.0.0.7",
        "KITH_SERVICE_PORT": "8000",
        "KITH_GATEWAY_PORT": "tcp://10.0.0.8:8000",
        "KITH_GATEWAY_SERVICE_HOST": "10.0.0.8",
        "KITH_GATEWAY_SERVICE_PORT_HTTP": "8000",
        "KITH_TOKEN": "x.y.z",
        "KITHARA": "1",
    }
    config = read_config(NO_STATE, "public", environ={**SERVERS, **environ})
    assert config == read_config(NO_STATE, "public", environ=SERVERS)


@pytest.mark.parametrize("name", ["DATABASE_URL", "REDIS_URL", "KITH_CACHE_URL", "KITH_JWT_SECRET"])
def test_every_secret_may_come_from_a_file_and_is_not_in_the_repr(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("redis://:hunter2hunter2hunter2hunter2@host\n")
    environ = {key: value for key, value in SERVERS.items() if key != name}
    config = read_config(NO_STATE, "public", environ={**environ, f"{name}_FILE": str(file)})
    values = (
        *(config.storage.database_url, config.storage.redis_url, config.storage.cache.url),
        *config.authentication.secrets,
    )
    assert "redis://:hunter2hunter2hunter2hunter2@host" in values
    assert "hunter" not in repr(config)
    for group in GROUPS:
        assert "hunter" not in repr(read(group, {name: file.read_text().strip()}))


def test_the_error_for_a_secret_file_that_is_not_text_names_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"KITH_JWT_SECRET_FILE is .* it is not UTF-8"):
        signing({"KITH_JWT_SECRET_FILE": str(file)})


def test_an_empty_variable_counts_as_not_set() -> None:
    empty = dict.fromkeys(variable_names(), "")
    assert read_config(NO_STATE, "public", environ=empty | SERVERS) == read_config(
        NO_STATE, "public", environ=SERVERS
    )


def test_the_environment_is_read_only_by_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_POOL_MAX", "3")
    assert read(PostgresVariables).pool_max == 3
    assert read(PostgresVariables, {}).pool_max == 8
    assert PostgresVariables().pool_max == 8


def test_every_setting_has_help_and_every_number_a_unit() -> None:
    assert len(set(variable_names())) == len(list(variable_names()))
    for group in GROUPS:
        assert len(group.model_fields) <= 7
        for field in group.model_fields.values():
            assert field.description
            assert unit_of(field) or type(field.default) is not int
