"""A client for `http://` URLs.

A client that may have to use TLS loads all certificates of this machine, which takes 36 ms of CPU.
"""

from functools import partial
from pathlib import Path

import httpx

http_client = partial(httpx.AsyncClient, verify=False)


def unix_transport(socket: Path) -> httpx.AsyncHTTPTransport:
    """Connect to a unix socket."""
    return httpx.AsyncHTTPTransport(uds=str(socket), verify=False)
