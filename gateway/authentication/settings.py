"""Authentication settings, and the keys that they name."""

from dataclasses import dataclass, field
from pathlib import Path

from gateway.authentication.jwks_url import JwksUrl
from gateway.authentication.key_sources import key_set_file, public_keys, secret_keys
from gateway.authentication.token_claims import ClaimMapping
from gateway.authentication.token_keys import TokenKey


@dataclass(frozen=True, slots=True)
class AcceptedTokens:
    """Which tokens with a valid signature are accepted. Without `audiences`, those of any audience,
    and without `issuers`, those of any issuer."""

    audiences: tuple[str, ...] = ()
    issuers: tuple[str, ...] = ()
    leeway_s: int = 30
    """The allowed difference between the clocks of the issuer and of this machine."""


@dataclass(frozen=True, slots=True)
class AuthenticationSettings:
    """How tokens are checked. At least one of the first four must be set.

    `development` accepts the well-known secret and the header `X-Viewer: 42`, for local development
    only.
    """

    secrets: tuple[str, ...] = field(default=(), repr=False)
    public_key_files: tuple[Path, ...] = ()
    jwks_file: Path | None = None
    jwks_url: JwksUrl | None = None
    accepted: AcceptedTokens = field(default_factory=AcceptedTokens)
    claims: ClaimMapping = field(default_factory=ClaimMapping)
    development: bool = False

    def local_keys(self) -> tuple[TokenKey, ...]:
        """The keys that need no fetch. Raises ValueError for invalid settings."""
        self.claims.check()
        if self.jwks_url is not None and not (self.accepted.audiences or self.accepted.issuers):
            raise ValueError(
                "KITH_JWKS_URL needs KITH_JWT_ISSUER or KITH_JWT_AUDIENCE: the keys of some"
                " providers sign the tokens of all their customers."
            )
        keys = (
            *secret_keys(self.secrets, self.development),
            *public_keys(self.public_key_files),
            *(() if self.jwks_file is None else key_set_file(self.jwks_file)),
        )
        if not keys and self.jwks_url is None:
            raise ValueError(
                "At least one of KITH_JWT_SECRET, KITH_JWT_PUBLIC_KEY_FILE, KITH_JWKS_FILE and"
                " KITH_JWKS_URL must be set."
            )
        return keys
