"""Who is asking. Knows tokens and their claims, nothing of what a viewer may see.

A request without credentials is anonymous. One with credentials that do not hold is refused:
falling back to anonymous would hide an expired token behind an empty screen.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import jwt

from engine.cache import LruCache
from gateway.headers import Headers
from gateway.http_refusal import HttpRefusal
from gateway.token_keys import DEVELOPMENT_SECRET, TokenKeys, key_set, public_key, shared_secret
from graph.edge import MAX_USER_ID, user_id_of

__all__ = [
    "ANONYMOUS",
    "DEVELOPMENT_SECRET",
    "Authentication",
    "AuthenticationSettings",
    "Identity",
    "mint",
]

LEEWAY_S = 30
TOKEN_CHARS_MAX = 8_192
# Of tokens that held: whoever has none that holds cannot push others out.
TOKENS_HELD_MAX = 10_000
TOKENS_HELD_BYTES_MAX = 16 << 20
SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks: a user, a trusted service (perhaps for a user), or nobody."""

    user_id: int | None = None
    service: bool = False
    expires_at: int | None = field(default=None, compare=False)
    """Until when that holds, in seconds since 1970: for those who stay connected."""


ANONYMOUS = Identity()


@dataclass(frozen=True, slots=True)
class AuthenticationSettings:
    """How tokens are checked. Exactly one of the first three is set.

    `development` accepts the well-known secret, `allow_x_viewer` the header `X-Viewer: 42`; both
    are for a laptop alone.
    """

    secret: str | None = None
    public_key_file: Path | None = None
    jwks_file: Path | None = None
    audience: str | None = None
    issuer: str | None = None
    allow_x_viewer: bool = False
    development: bool = False


class Authentication:
    """Tells who sent a request. Raises ValueError for settings that cannot be right."""

    def __init__(self, settings: AuthenticationSettings) -> None:
        self._keys = _keys(settings)
        self._audience = settings.audience
        self._issuer = settings.issuer
        self._allow_x_viewer = settings.allow_x_viewer
        self._held: LruCache[bytes, tuple[Identity, int]] = LruCache(
            entries=TOKENS_HELD_MAX, weight=TOKENS_HELD_BYTES_MAX
        )
        """Whom credentials name, and the second until which they hold."""

    def identify(self, headers: Headers) -> Identity:
        """The identity behind these headers. Raises HttpRefusal 401, code UNAUTHENTICATED."""
        credentials = headers.get(b"authorization")
        if credentials is not None:
            if len(headers.every(b"authorization")) > 1:
                raise _refused("Authorization is one `Bearer` token.")
            return self._bearer(credentials)
        viewer = headers.get(b"x-viewer") if self._allow_x_viewer else None
        return ANONYMOUS if viewer is None else _named(viewer.decode("latin-1").strip())

    def _bearer(self, credentials: bytes) -> Identity:
        held = self._held.get(credentials)
        # As PyJWT says it: what holds now stops to do so when it expires, and for no other reason.
        if held is not None and time.time() < held[1]:
            return held[0]
        scheme, _, token = credentials.decode("latin-1").strip().partition(" ")
        if scheme.lower() != "bearer":
            raise _refused("Authorization is one `Bearer` token.")
        claims = self._claims(token.strip())
        identity, until = _identity(claims), int(claims["exp"]) + LEEWAY_S
        self._held.put(credentials, (identity, until), len(credentials))
        return identity

    def _claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > TOKEN_CHARS_MAX:
            raise _refused(f"A token has at most {TOKEN_CHARS_MAX} characters.")
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                self._keys.key_for(token),
                algorithms=[self._keys.algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp"], "verify_aud": self._audience is not None},
            )
        except jwt.ExpiredSignatureError:
            raise _refused("The token has expired.") from None
        except jwt.PyJWTError as error:
            raise _refused(f"The token is not valid: {str(error).rstrip('.')}.") from None
        return claims


def mint(secret: str, sub: int | None, scope: str = "", ttl_s: int = 3_600) -> str:
    """A token as `Authentication` accepts it: HS256, for `sub` and the scopes, for `ttl_s`."""
    now = int(time.time())
    claims: dict[str, Any] = {"iat": now, "exp": now + ttl_s}
    if sub is not None:
        claims["sub"] = str(_user_id(str(sub), "sub"))
    if scope:
        claims["scope"] = scope
    return jwt.encode(claims, secret, algorithm="HS256")


def _keys(settings: AuthenticationSettings) -> TokenKeys:
    keys: list[Callable[[], TokenKeys]] = []
    if (secret := settings.secret) is not None:
        keys.append(lambda: shared_secret(secret, settings.development))
    if (file := settings.public_key_file) is not None:
        keys.append(lambda: public_key(file))
    if (set_file := settings.jwks_file) is not None:
        keys.append(lambda: key_set(set_file))
    if len(keys) != 1:
        raise ValueError(
            "Exactly one of KITH_JWT_SECRET, KITH_JWT_PUBLIC_KEY_FILE and KITH_JWKS_FILE must be"
            f" set, not {len(keys)}."
        )
    return keys[0]()


def _identity(claims: Mapping[str, Any]) -> Identity:
    scope = claims.get("scope", "")
    if not isinstance(scope, str):
        raise _refused("The token's `scope` is a string of words.")
    service = SERVICE in scope.split()
    expires_at = int(claims["exp"]) + LEEWAY_S
    subject = claims.get("sub")
    if subject is None:
        if service:
            return Identity(None, True, expires_at)
        raise _refused("The token names nobody: it needs `sub`.")
    return Identity(_user_id(subject, "The token's `sub`"), service, expires_at)


@lru_cache(maxsize=TOKENS_HELD_MAX)
def _named(viewer: str) -> Identity:
    return Identity(_user_id(viewer, "X-Viewer"))


def _user_id(text: str, what: str) -> int:
    found = user_id_of(text)
    if found is None:
        raise _refused(f"{what} is a user's id: a decimal number from 1 to {MAX_USER_ID}.")
    return found


def _refused(message: str) -> HttpRefusal:
    # A quote or a line break in the reason would end the header's own quoting.
    reason = re.sub(r"[^ !#-\[\]-~]", "", message)
    challenge = f'Bearer error="invalid_token", error_description="{reason}"'
    return HttpRefusal(401, "UNAUTHENTICATED", message, {"www-authenticate": challenge})
