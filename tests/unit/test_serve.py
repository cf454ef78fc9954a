"""The settings that a gateway process is served with."""

import uvicorn

from gateway.serve import UVICORN_OPTIONS

PROXIES_S = 60
"""How long nginx and the usual load balancers keep an idle connection to a server."""


def test_an_idle_connection_stays_open_for_longer_than_proxies_keep_theirs() -> None:
    assert uvicorn.Config("gateway", **UVICORN_OPTIONS).timeout_keep_alive > PROXIES_S
