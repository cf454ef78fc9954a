"""The tokens that a process accepts, and those that `kith token` signs."""

from pathlib import Path

from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.key_sources import DEVELOPMENT_SECRET
from gateway.authentication.settings import AcceptedTokens, AuthenticationSettings
from gateway.authentication.token_claims import ClaimMapping, ClaimPath, parse_claim_path
from gateway.settings.declarations.authentication import ClaimVariables, TokenKeyVariables
from gateway.settings.declarations.servers import SpaceVariables
from gateway.settings.environment import ConfigurationError, Environ, read
from gateway.settings.fields import revealed


def signing(environ: Environ = None) -> tuple[str, AuthenticationSettings]:
    """The secret that `token` signs with (the first one, or `dev`'s), and the token settings.

    Raises:
        ConfigurationError: no secret is configured, so tokens are signed elsewhere.
    """
    authentication = authentication_settings(environ, development=True)
    if not authentication.secrets:
        raise ConfigurationError(
            "KITH_JWT_SECRET is not set, so this command cannot sign a token. Sign tokens where "
            "the private key is."
        )
    return authentication.secrets[0], authentication


def space_claim(environ: Environ = None) -> ClaimPath:
    """The claim that names the space of a token."""
    return parse_claim_path(read(SpaceVariables, environ).claim)


def authentication_settings(environ: Environ, development: bool) -> AuthenticationSettings:
    """The keys and claims of accepted tokens. `development`: without keys, those of `dev`."""
    keys, claims = read(TokenKeyVariables, environ), read(ClaimVariables, environ)
    secrets = tuple(filter(None, (revealed(keys.secret) or "").splitlines()))
    public_keys = tuple(map(Path, keys.public_key_files))
    if development and not (secrets or public_keys or keys.jwks_file or keys.jwks_url):
        secrets = (DEVELOPMENT_SECRET,)
    return AuthenticationSettings(
        secrets=secrets,
        public_key_files=public_keys,
        jwks_file=keys.jwks_file,
        jwks_url=_jwks_url(keys),
        accepted=AcceptedTokens(claims.audiences, claims.issuers, claims.leeway_s),
        claims=ClaimMapping(claims.user, claims.scope, claims.service_scope),
        development=development,
    )


def _jwks_url(keys: TokenKeyVariables) -> JwksUrl | None:
    if not keys.jwks_url:
        return None
    return JwksUrl(keys.jwks_url, keys.jwks_refresh_s, keys.jwks_wait_ms, kept_s=keys.jwks_kept_s)
