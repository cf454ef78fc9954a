"""The settings of tokens: the keys that verify them, and their claims."""

from pathlib import Path

from pydantic import SecretStr

from gateway.settings.fields import (
    A_DAY_S,
    Group,
    Names,
    WholeNumber,
    number,
    secret,
    setting,
)


class TokenKeyVariables(Group):
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
        minimum=10,
        maximum=A_DAY_S,
        unit="s",
    )
    jwks_wait_ms: WholeNumber = number(
        "KITH_JWKS_WAIT_MS",
        2_000,
        "how long a request whose token has an unknown key waits for a fetch",
        minimum=0,
        maximum=9_000,
        unit="ms",
    )
    jwks_kept_s: WholeNumber = number(
        "KITH_JWKS_KEPT_S",
        A_DAY_S,
        "how long the last keys stay in use while none can be fetched; 0: without a limit",
        minimum=0,
        maximum=30 * A_DAY_S,
        unit="s",
    )


class ClaimVariables(Group):
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
        "KITH_JWT_LEEWAY_S", 30, "allowed clock difference", minimum=0, maximum=300, unit="s"
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
