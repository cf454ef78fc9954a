"""The settings that a gateway process is served with."""

import resource

import pytest

from gateway.http.open_connections import ConnectionLimits
from gateway.server.open_files import OTHER_FILES, within_open_files

PROXY_IDLE_S = 60
"""How long nginx and the usual load balancers keep an idle connection to a server."""


def test_an_idle_connection_stays_open_for_longer_than_proxies_keep_theirs() -> None:
    assert ConnectionLimits().idle_s > PROXY_IDLE_S


def test_connections_are_limited_to_the_open_files_that_the_system_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.append(pair))
    assert within_open_files(ConnectionLimits(connections_max=500)).connections_max == 500
    assert limits == []
    assert within_open_files(ConnectionLimits(connections_max=3_000)).connections_max == 3_000
    assert within_open_files(ConnectionLimits()).connections_max == 4_096 - OTHER_FILES
    assert limits == [(3_256, 4_096), (4_096, 4_096)]
