"""A JWKS URL: what it may be, and one bounded request to it."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx

from gateway.token_keys import KEY_SET_BYTES_MAX


@dataclass(frozen=True, slots=True)
class JwksUrl:
    """Where keys are fetched, and how often. `wait_ms` is how long one request waits for them."""

    url: str
    refresh_s: float = 300
    wait_ms: int = 2_000
    fetch_deadline_ms: int = 5_000
    unknown_key_every_s: float = 60
    """How often a token with an unknown `kid` may cause a fetch."""


class FetchFailed(Exception):
    """The URL gave no usable keys; the text has no address in it and may be shown."""


def check_jwks_url(url: str) -> None:
    """Raises ValueError for an address from which keys must not be fetched."""
    try:
        address = urlsplit(url)
        host = address.hostname
        _ = address.port  # raises where it is none
    except ValueError:
        raise ValueError("KITH_JWKS_URL cannot be read as an address.") from None
    if not host or address.username is not None or address.fragment:
        raise ValueError(
            "KITH_JWKS_URL must look like https://login.example/.well-known/jwks.json,"
            " without a user name and without a fragment."
        )
    if address.scheme != "https" and not (address.scheme == "http" and _is_loopback(host)):
        raise ValueError(
            "KITH_JWKS_URL must begin with https://, because whoever can change the answer on its"
            " way can sign any token. http:// is allowed for this machine alone (localhost)."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


async def download(client: httpx.AsyncClient, url: str) -> bytes:
    """The body of a 200, never more than may be. Raises FetchFailed for any other answer."""
    # Compressed, a small answer could become a large one.
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
            if len(body) > KEY_SET_BYTES_MAX:
                raise FetchFailed(f"the answer is larger than {KEY_SET_BYTES_MAX} bytes")
        return bytes(body)
