"""Authentication: finds the identity of a request from its token or, in development, `X-Viewer`.

A request without credentials is anonymous. A request with an invalid token is rejected: if it were
treated as anonymous, an expired token would show as an empty screen.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any

import jwt

from engine import Turns
from engine.cache import LruCache
from gateway.authentication.key_sources import DEVELOPMENT_SECRET
from gateway.authentication.remote_keys import RemoteKeys
from gateway.authentication.settings import AuthenticationSettings
from gateway.authentication.token_claims import ClaimError, ClaimPath, Identity
from gateway.authentication.token_keys import PUBLIC_KEY_ALGORITHMS, TokenKey, TokenKeys
from gateway.http.bearer import provider_unavailable, rejected, several_tokens, token_in
from gateway.http.headers import Headers
from gateway.http.health import Probe
from gateway.http.rejection import HttpRejection
from graph.edge import MAX_USER_ID, user_id_of

__all__ = [
    "ANONYMOUS",
    "DEVELOPMENT_SECRET",
    "IDENTITY_KEYS",
    "SERVICE",
    "Authentication",
    "AuthenticationSettings",
    "Identity",
    "mint",
]

# Only valid tokens are cached, so invalid ones cannot evict them.
TOKENS_HELD_MAX = 10_000
TOKENS_HELD_BYTES_MAX = 16 << 20

VERIFICATION = 0.25
"""The part of a slice of the event loop that verifying a token takes: 0.05 to 0.5 ms with a key of
the usual kinds and lengths."""

SERVICE = "service"
IDENTITY_KEYS = "identity_keys"
"""The name of the health probe of the keys that verify tokens."""

ANONYMOUS = Identity()


class Authentication:
    """Finds the identity of a request. Raises ValueError for invalid settings.

    Tokens that arrive together are verified in `turns` of the event loop.
    """

    def __init__(self, settings: AuthenticationSettings, turns: Turns | None = None) -> None:
        self.settings = settings
        self._turns = turns or Turns()
        self._local = settings.local_keys()
        self._remote: RemoteKeys | None = None
        if settings.jwks_url is not None:
            self._remote = RemoteKeys(settings.jwks_url, self._keys_changed)
        self._keys_changed()

    def _keys_changed(self) -> None:
        """Use the current keys of all sources."""
        remote = () if self._remote is None else self._remote.keys
        self._keys = TokenKeys((*self._local, *remote))
        # Drop cached tokens: a withdrawn key must not remain valid through them.
        self._cached: LruCache[bytes, tuple[Identity, int]] = LruCache(
            entries=TOKENS_HELD_MAX, weight=TOKENS_HELD_BYTES_MAX
        )
        """The identity of each Authorization header, and the second until which it is valid."""
        self._verified = self._cached.keys()
        """The cached Authorization headers. Their tokens may have expired since."""

    @property
    def fetches_keys(self) -> bool:
        """Whether keys are fetched, so that `pending_key_fetch` may return an awaitable."""
        return self._remote is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Refresh fetched keys for as long as the block runs."""
        if self._remote is None:
            yield
            return
        async with self._remote.refreshing():
            yield

    def probes(self) -> dict[str, Probe]:
        """Probes of the keys and of the identity provider."""
        remote = self._remote
        if remote is None:
            return {}
        return {IDENTITY_KEYS: remote.probe_keys, "identity_provider": remote.probe_provider}

    async def authenticate(self, headers: Headers) -> Identity:
        """The same as `identify`, after fetching the token's key if it is unknown, and in a turn if
        the token must be verified."""
        key_fetch = self.pending_key_fetch(headers)
        if key_fetch is not None:
            await key_fetch
        turn = self.turn_to_verify(headers)
        if turn is not None:
            await turn
        return self.identify(headers)

    def turn_to_verify(
        self, headers: Headers, take_turns: Callable[[Headers], None] = lambda _: None
    ) -> Awaitable[None] | None:
        """A turn of the event loop to await directly before `identify`, or None, the usual case.

        It is needed if the token was not verified before, and others are being verified. Then
        `take_turns(headers)` is called first: it sets the sender whose turn it is.
        """
        credentials = headers.get(b"authorization")
        if credentials is None or credentials in self._verified:
            return None
        if self._turns.fits(VERIFICATION):
            return None
        take_turns(headers)
        return self._turns.request()

    def pending_key_fetch(self, headers: Headers) -> Awaitable[None] | None:
        """Request a fetch if the token's key is unknown and the JWKS URL may have it. Returns an
        awaitable to complete before `identify`, or None, the usual case. Raises nothing."""
        if self._remote is None:
            return None
        credentials = headers.get(b"authorization")
        if credentials is None or self._cached.get(credentials) is not None:
            return None
        try:
            algorithm, key_id = _header(token_in(credentials))
        except (HttpRejection, jwt.PyJWTError):
            return None
        if not self._may_be_fetchable(algorithm, key_id):
            return None
        return self._remote.wait() if self._remote.request_fetch() else None

    def _may_be_fetchable(self, algorithm: str, key_id: str | None) -> bool:
        """Whether the JWKS URL may have a key for this token that has not been fetched yet."""
        if self._remote is None or algorithm not in PUBLIC_KEY_ALGORITHMS:
            return False
        return not (self._remote.keys if key_id is None else self._keys.has_key_id(key_id))

    def identify(self, headers: Headers) -> Identity:
        """The identity of these headers. Fetches nothing: await `pending_key_fetch` before.

        Raises HttpRejection: 401 UNAUTHENTICATED for invalid credentials, 503
        IDENTITY_PROVIDER_UNAVAILABLE if the token's key is unknown, and could not be fetched.
        """
        credentials = headers.get(b"authorization")
        if credentials is not None:
            if len(headers.every(b"authorization")) > 1:
                raise several_tokens()
            return self._identity_of_token(credentials)
        viewer = headers.get(b"x-viewer") if self.settings.development else None
        return (
            ANONYMOUS if viewer is None else _identity_of_viewer(viewer.decode("latin-1").strip())
        )

    def verified(self, headers: Headers) -> Identity:
        """The identity of these headers if their token was verified before. Otherwise ANONYMOUS:
        verifying a token takes up to 1 ms, and anybody may send an invalid one."""
        credentials = headers.get(b"authorization")
        if credentials is None:
            try:
                return self.identify(headers)
            except HttpRejection:
                return ANONYMOUS
        cached = self._cached.get(credentials)
        if cached is None or time.time() >= cached[1] or len(headers.every(b"authorization")) > 1:
            return ANONYMOUS
        return cached[0]

    def _identity_of_token(self, credentials: bytes) -> Identity:
        """The identity of the token in an Authorization header. Raises as `identify`."""
        cached = self._cached.get(credentials)
        # The same bound as that of PyJWT: the time `exp` of the token, plus the leeway.
        if cached is not None and time.time() < cached[1]:
            return cached[0]
        self._cached.discard(credentials)  # so that `turn_to_verify` gives turns for it
        try:
            claims = self._verified_claims(token_in(credentials))
            until = int(claims["exp"]) + self.settings.accepted.leeway_s
            identity = self.settings.claims.identity(claims, until)
        except jwt.ExpiredSignatureError:
            raise rejected("The token has expired.") from None
        except jwt.PyJWTError as error:
            raise rejected(f"The token is not valid: {str(error).rstrip('.')}.") from None
        except ClaimError as error:
            raise rejected(str(error)) from None
        self._cached.put(credentials, (identity, until), len(credentials))
        return identity

    def _verified_claims(self, token: str) -> Mapping[str, Any]:
        """The claims of a valid token. Raises jwt.PyJWTError, and HttpRejection 503."""
        algorithm, key_id = _header(token)
        candidates = self._keys.candidates(algorithm, key_id)
        for candidate in candidates:
            try:
                return self._decoded(token, candidate)
            except jwt.InvalidSignatureError:
                continue
        if self._may_be_fetchable(algorithm, key_id) and self._remote and self._remote.uncertain:
            raise provider_unavailable()
        if candidates:
            raise jwt.InvalidSignatureError("Signature verification failed")
        if algorithm not in self._keys.algorithms:
            allowed = ", ".join(self._keys.algorithms)
            raise jwt.InvalidAlgorithmError(
                f"its algorithm must be one of {allowed}"
                if allowed
                else "its algorithm is not accepted"
            )
        raise jwt.InvalidTokenError("it is signed with an unknown key")

    def _decoded(self, token: str, key: TokenKey) -> Mapping[str, Any]:
        """The claims of a token, if it is valid and signed with this key. Raises jwt.PyJWTError."""
        accepted = self.settings.accepted
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=sorted(key.algorithms),
            audience=accepted.audiences or None,
            issuer=accepted.issuers or None,
            leeway=accepted.leeway_s,
            options={
                "require": ["exp"],
                "verify_aud": bool(accepted.audiences),
                "verify_sub": False,  # PyJWT rejects a number, which is allowed here
            },
        )
        return claims


def mint(
    secret: str,
    sub: int | None,
    scope: str = "",
    ttl_s: int = 3_600,
    settings: AuthenticationSettings | None = None,
    further_claim: tuple[ClaimPath, str] | None = None,
) -> str:
    """A token that `Authentication` accepts: HS256, for the user `sub` and the scopes in `scope`,
    with spaces between, valid for `ttl_s` seconds.

    `settings` give the names of its claims, its audience and its issuer.
    """
    settings = settings or AuthenticationSettings()
    accepted = settings.accepted
    now = int(time.time())
    claims: dict[str, Any] = {"iat": now, "exp": now + ttl_s}
    if sub is not None:
        settings.claims.user_path.put(claims, str(_user_id(str(sub), "sub")))
    if scope:
        settings.claims.scope_path.put(claims, scope)
    if further_claim is not None:
        path, value = further_claim
        path.put(claims, value)
    for name, values in (("aud", accepted.audiences), ("iss", accepted.issuers)):
        if values:
            claims[name] = values[0]
    return jwt.encode(claims, secret, algorithm="HS256")


def _header(token: str) -> tuple[str, str | None]:
    """The algorithm and the `kid` that a token claims. Raises jwt.PyJWTError."""
    header = jwt.get_unverified_header(token)
    algorithm, key_id = header.get("alg"), header.get("kid")
    if not isinstance(algorithm, str):
        raise jwt.InvalidAlgorithmError("its header must name an algorithm")
    return algorithm, key_id


@lru_cache(maxsize=TOKENS_HELD_MAX)
def _identity_of_viewer(viewer: str) -> Identity:
    return Identity(_user_id(viewer, "X-Viewer"))


def _user_id(text: str, source: str) -> int:
    user_id = user_id_of(text)
    if user_id is None:
        raise rejected(f"{source} must be a user's id: a decimal number from 1 to {MAX_USER_ID}.")
    return user_id
