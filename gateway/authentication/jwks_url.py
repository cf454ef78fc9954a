"""JWKS URLs: validation, discovery, and one download with limits."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
import orjson

from gateway.authentication.token_keys import KEYS_BYTES_MAX

DISCOVERY = "/.well-known/openid-configuration"
"""The end of the URL of a discovery document, which names the URL of the keys."""


@dataclass(frozen=True, slots=True)
class JwksUrl:
    """Where and how often to fetch keys. `wait_ms` is how long one request waits for a fetch."""

    url: str
    """The URL of the keys or, with the path `DISCOVERY` at its end, of a discovery document."""
    refresh_s: float = 300
    wait_ms: int = 2_000
    fetch_deadline_ms: int = 5_000
    kept_s: float = 86_400
    """How long keys stay in use while none can be fetched. 0: without a limit."""
    unknown_key_every_s: float = 60
    """The shortest time between two fetches because of tokens with an unknown `kid`."""


class FetchFailed(Exception):
    """The URL returned no usable keys. The text contains no address, so it may be shown."""


def check_jwks_url(url: str) -> None:
    """Raise ValueError for an address from which keys must not be fetched."""
    try:
        address = urlsplit(url)
        host = address.hostname
        _ = address.port  # raises ValueError for an invalid port
    except ValueError:
        raise ValueError("KITH_JWKS_URL cannot be read as an address.") from None
    if not host or address.username is not None or address.fragment:
        raise ValueError(
            "KITH_JWKS_URL must look like https://login.example/.well-known/jwks.json,"
            " without a user name and without a fragment."
        )
    if address.scheme != "https" and not (address.scheme == "http" and _is_loopback(host)):
        raise ValueError(
            "KITH_JWKS_URL must begin with https://: over http, others could replace the keys."
            " http:// is allowed for this machine only (localhost)."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def download_key_set(client: httpx.AsyncClient, url: str) -> bytes:
    """The key set at this URL, or at the URL that its discovery document names. Raises as
    `download`."""
    if urlsplit(url).path.endswith(DISCOVERY):
        url = _key_set_url(url, await download(client, url))
    return await download(client, url)


def _key_set_url(url: str, content: bytes) -> str:
    """The `jwks_uri` of a discovery document, as OpenID Connect Discovery 1.0 defines it in
    sections 3 and 4.3."""
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise FetchFailed("the discovery document is not JSON") from None
    issuer, jwks_uri = (
        document.get(name) if isinstance(document, dict) else None
        for name in ("issuer", "jwks_uri")
    )
    if not isinstance(issuer, str) or issuer.rstrip("/") + DISCOVERY != url:
        raise FetchFailed("the `issuer` of the discovery document is not that of its URL")
    try:
        check_jwks_url(str(jwks_uri))
        is_as_safe = urlsplit(str(jwks_uri)).scheme == urlsplit(url).scheme
    except ValueError:
        is_as_safe = False
    if not is_as_safe:
        raise FetchFailed("the discovery document has no `jwks_uri` that may be used")
    return str(jwks_uri)


async def download(client: httpx.AsyncClient, url: str) -> bytes:
    """The body of a 200 response, with a size limit. Raises FetchFailed for any other response, and
    httpx.HTTPError if there is none."""
    # A compressed response could exceed the limit after decompression.
    headers = {
        "accept": "application/jwk-set+json, application/json",
        "accept-encoding": "identity",
    }
    async with client.stream("GET", url, headers=headers) as response:
        if response.is_redirect:
            raise FetchFailed("the answer is a redirect, which is not followed")
        if response.status_code != 200:
            raise FetchFailed(f"the answer has the status {response.status_code}, not 200")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise FetchFailed("the answer is compressed, although it must not be")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > KEYS_BYTES_MAX:
                raise FetchFailed(f"the answer is larger than {KEYS_BYTES_MAX} bytes")
        return bytes(body)
