"""Bearer tokens in HTTP (RFC 6750): reading and rejecting them."""

import re

from gateway.http.rejection import HttpRejection

# Tokens are sent with each request. Those of the usual providers have 500 to 3,000 characters.
TOKEN_CHARS_MAX = 16_384
RETRY_AFTER_S = 5
_ONE_TOKEN = "Authorization must be one `Bearer` token."  # noqa: S105


def token_in(credentials: bytes) -> str:
    """The token of an Authorization header. Raises HttpRejection 401."""
    # Checked before decoding, and without truncating.
    if len(credentials) > TOKEN_CHARS_MAX + len("Bearer "):
        raise rejected(f"A token must have at most {TOKEN_CHARS_MAX} characters.")
    scheme, _, token = credentials.decode("latin-1").strip().partition(" ")
    if scheme.lower() != "bearer":
        # RFC 6750 section 3.1: no error code for other schemes.
        raise HttpRejection(401, "UNAUTHENTICATED", _ONE_TOKEN, {"www-authenticate": "Bearer"})
    return token.strip()


def rejected(message: str) -> HttpRejection:
    """The rejection of a token that is not valid, for the reason in `message`."""
    return HttpRejection(401, "UNAUTHENTICATED", message, _challenge("invalid_token", message))


def several_tokens() -> HttpRejection:
    """The rejection of a request with more than one Authorization header."""
    headers = _challenge("invalid_request", _ONE_TOKEN)
    return HttpRejection(400, "BAD_REQUEST", _ONE_TOKEN, headers)


def provider_unavailable() -> HttpRejection:
    """The rejection of a token whose key is unknown and cannot be fetched at the moment."""
    message = (
        "The token cannot be checked at the moment, because the identity provider does not give"
        " its keys; try again."
    )
    retry = {"retry-after": str(RETRY_AFTER_S)}
    return HttpRejection(503, "IDENTITY_PROVIDER_UNAVAILABLE", message, retry)


def _challenge(error: str, message: str) -> dict[str, str]:
    # A quote or a line break in the reason would end the header's own quoting.
    reason = re.sub(r"[^ !#-\[\]-~]", "", message)
    return {"www-authenticate": f'Bearer error="{error}", error_description="{reason}"'}
