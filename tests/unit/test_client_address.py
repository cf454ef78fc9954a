"""The client address of an anonymous request, directly or behind proxies."""

import pytest

from gateway.http.client_address import ClientAddresses, parse_proxies
from gateway.http.headers import Headers
from tests.support.call_counts import count_calls

HEADERS = {"x_forwarded_for": "198.51.100.7"}
PROXIES = parse_proxies("10.0.0.0/8, fd00::/8")


def client_address(
    peer: str | None, headers: dict[str, str], proxies: frozenset[str] = PROXIES
) -> str:
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return ClientAddresses(proxies).address_of(Headers(raw, (peer, 1234) if peer else None))


@pytest.mark.parametrize(
    ("peer", "headers", "expected"),
    [
        ("192.0.2.1", {}, "192.0.2.1"),
        ("192.0.2.1", {"x_forwarded_for": "198.51.100.7"}, "192.0.2.1"),
        ("10.0.0.1", {}, "10.0.0.1"),
        ("10.0.0.1", {"x_forwarded_for": "198.51.100.7"}, "198.51.100.7"),
        ("10.0.0.1", {"x_forwarded_for": "198.51.100.7:4711"}, "198.51.100.7"),
        ("10.0.0.1", {"x_forwarded_for": "203.0.113.9, 198.51.100.7"}, "198.51.100.7"),
        ("10.0.0.1", {"x_forwarded_for": "198.51.100.7, 10.0.0.2"}, "198.51.100.7"),
        ("10.0.0.1", {"x_forwarded_for": "10.0.0.3, 10.0.0.2"}, "10.0.0.3"),
        ("10.0.0.1", {"x_forwarded_for": "198.51.100.7, nonsense"}, "10.0.0.1"),
        ("10.0.0.1", {"forwarded": 'for="[2001:db8::1]:80";proto=https'}, "2001:db8::/64"),
        ("10.0.0.1", {"forwarded": "for=203.0.113.9, FOR=198.51.100.7"}, "198.51.100.7"),
        ("10.0.0.1", {"forwarded": "for=_hidden"}, "10.0.0.1"),
        ("::ffff:10.0.0.1", {"x_forwarded_for": "198.51.100.7"}, "198.51.100.7"),
        ("2001:db8:0:0:1:2:3:4", {}, "2001:db8::/64"),
        (None, {}, "unknown"),
        (None, {"x_forwarded_for": "198.51.100.7"}, "unknown"),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_trusted_proxy(
    peer: str | None, headers: dict[str, str], expected: str
) -> None:
    assert client_address(peer, headers) == expected


def test_headers_are_read_only_from_trusted_proxies() -> None:
    assert client_address("10.0.0.1", HEADERS, frozenset()) == "10.0.0.1"


@pytest.mark.parametrize(
    ("x_forwarded_for", "forwarded", "expected"),
    [
        ("198.51.100.7", "for=203.0.113.9", "10.0.0.1"),
        ("203.0.113.9", "for=198.51.100.7", "10.0.0.1"),
        ("203.0.113.9, 198.51.100.7", "for=198.51.100.7", "198.51.100.7"),
        ("2001:db8::1", 'for="[2001:db8::1]"', "2001:db8::/64"),
    ],
)
def test_a_client_cannot_choose_its_address_by_the_header_that_the_proxy_does_not_write(
    x_forwarded_for: str, forwarded: str, expected: str
) -> None:
    headers = {"x_forwarded_for": x_forwarded_for, "forwarded": forwarded}
    assert client_address("10.0.0.1", headers) == expected


def test_a_proxy_can_connect_by_a_unix_socket() -> None:
    assert client_address(None, HEADERS, parse_proxies("unix")) == "198.51.100.7"


def test_a_long_chain_of_proxies_is_read_only_in_part() -> None:
    chain = ", ".join(["198.51.100.7", *["10.0.0.2"] * 1_000])
    assert client_address("10.0.0.1", {"x_forwarded_for": chain}) == "10.0.0.2"


@pytest.mark.parametrize("sent", ["", "x", "for=192.0.2.9", "for=10.0.0.3", "x" * 300])
@pytest.mark.parametrize(
    ("name", "written"), [("forwarded", "for=198.51.100.7"), ("x_forwarded_for", "198.51.100.7")]
)
def test_header_text_before_that_of_the_proxies_is_not_examined(
    sent: str, name: str, written: str
) -> None:
    values = [f"{number}{sent}," * (24_000 // (len(sent) + 2)) + written for number in (1, 2)]
    for value in values:
        assert client_address("10.0.0.1", {name: value}) == "198.51.100.7"
    # The second value has another beginning than the first one.
    assert count_calls(lambda: client_address("10.0.0.1", {name: values[1]})) < 500


@pytest.mark.parametrize("text", ["10.0.0.1/8", "proxy.example.com", "unix, 10.0.0.0/33"])
def test_an_invalid_network_of_proxies_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="which is no network"):
        parse_proxies(text)
