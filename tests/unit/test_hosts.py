"""Connections are spread over the hosts of a URL."""

from urllib.parse import parse_qs, urlsplit

import pytest

from storage.postgres.connection.hosts import balanced

RANDOM = "load_balance_hosts=random"


def test_without_random_the_hosts_keep_their_order() -> None:
    url = "postgresql://k:a%2Fb@one:1,two:2/k?target_session_attrs=read-write"
    assert balanced(url) == url
    assert balanced(f"{url}&load_balance_hosts=disable") == url


def test_with_random_the_hosts_are_in_any_order_and_keep_their_ports() -> None:
    urls = {balanced(f"postgresql://k:p%40@one:1,two:2,three:3/k?{RANDOM}") for _ in range(500)}
    netlocs = {urlsplit(url).netloc for url in urls}
    assert len(netlocs) == 6
    assert "k:p%40@two:2,one:1,three:3" in netlocs
    assert not any(urlsplit(url).query for url in urls)


@pytest.mark.parametrize("port", ["5432", "1,2"])
def test_hosts_in_the_query_keep_their_ports(port: str) -> None:
    urls = [balanced(f"postgresql://k@/k?host=/a,/b&port={port}&{RANDOM}") for _ in range(200)]
    queries = [parse_qs(urlsplit(url).query) for url in urls]
    found = {(query["host"][0], query["port"][0]) for query in queries}
    assert found == {("/a,/b", port), ("/b,/a", port if port == "5432" else "2,1")}


def test_another_value_is_an_error_that_names_the_allowed_ones() -> None:
    with pytest.raises(ValueError, match="must be disable or random, got prefer"):
        balanced("postgresql://k@one,two/k?load_balance_hosts=prefer")
