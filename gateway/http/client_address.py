"""The address of a client, which a trusted proxy may report."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from gateway.http.headers import Headers

Address: TypeAlias = IPv4Address | IPv6Address

FORWARDING = (b"x-forwarded-for", b"forwarded")
UNKNOWN = "unknown"
UNIX = "unix"
"""Stands for the peers of a unix socket, which have no address."""
FORWARDED_MAX = 16
"""How many entries of a header, from its end, are looked at."""
IPV6_PREFIX = 64
"""An internet provider gives each subscriber a network of at least this size."""
_KNOWN_MAX, _KNOWN_BYTES_MAX = 4_096, 500
"""The number of results that are cached, and the length of the headers of each."""
_ELEMENT_CHARS_MAX = 200
"""Proxies write less than 100 characters for one element of a header. What precedes a longer one is
not read."""


def parse_proxies(text: str) -> frozenset[str]:
    """The networks in a comma-separated list, and `unix`. Raises ValueError for an invalid one."""
    entries = filter(None, (entry.strip() for entry in text.split(",")))
    return frozenset(entry if entry == UNIX else _network(entry) for entry in entries)


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError(
            f"holds {text[:100]!r}, which is no network; it must be an address, a network as"
            " 10.0.0.0/8, or unix for proxies that connect by a unix socket"
        ) from None


class ClientAddresses:
    """Finds the addresses of clients. `trusted`: the networks of proxies whose headers count."""

    def __init__(self, trusted: frozenset[str] = frozenset()) -> None:
        self._networks = [ip_network(network) for network in trusted - {UNIX}]
        self._trusts_unix = UNIX in trusted
        self._found = lru_cache(_KNOWN_MAX)(self._find)

    def address_of(self, headers: Headers) -> str:
        """The client's IPv4 address or IPv6 network; `unknown` without a peer."""
        peer = headers.client[0] if headers.client else None
        if not (self._networks or self._trusts_unix):
            return self._found(peer, b"", b"")
        x_forwarded_for, forwarded = (_end(headers.every(name)) for name in FORWARDING)
        if len(x_forwarded_for) + len(forwarded) > _KNOWN_BYTES_MAX:
            return self._find(peer, x_forwarded_for, forwarded)
        return self._found(peer, x_forwarded_for, forwarded)

    def _find(self, peer: str | None, x_forwarded_for: bytes, forwarded: bytes) -> str:
        """The last address that no trusted proxy has; that of the proxy if its headers disagree."""
        found = _address(peer or "")
        trusted = self._trusts_unix if found is None else self._is_trusted(found)
        if not trusted:
            return _shown(found)
        chains = []
        if x_forwarded_for:
            chains.append(x_forwarded_for.decode("latin-1").split(","))
        if forwarded:
            chains.append(list(_addresses_in(forwarded.decode("latin-1"))))
        reported = {self._last_untrusted(found, chain) for chain in chains}
        # A proxy writes one of the headers, or the same into both. It passes the other one on as
        # the client has sent it.
        return _shown(reported.pop() if len(reported) == 1 else found)

    def _last_untrusted(self, found: Address | None, chain: Sequence[str]) -> Address | None:
        """Follow a chain backwards, from the peer's address `found`, to the first address that no
        trusted proxy has. Stop before an entry that is no address, and after `FORWARDED_MAX`."""
        for text in reversed(chain):
            reported = _address(text)
            if reported is None:  # an obfuscated name, or nonsense
                break
            found = reported
            if not self._is_trusted(found):
                break
        return found

    def _is_trusted(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _end(values: Sequence[bytes]) -> bytes:
    """The last `FORWARDED_MAX` elements of a header, as far as they are short. The client may have
    sent any number of elements before those of the proxies."""
    end = b",".join(values)[-FORWARDED_MAX * _ELEMENT_CHARS_MAX :]
    return b",".join(end.rsplit(b",", FORWARDED_MAX)[-FORWARDED_MAX:])


def _addresses_in(forwarded: str) -> Iterator[str]:
    """The `for` of each element of RFC 7239's header."""
    for element in forwarded.split(","):
        pairs = (pair.strip().partition("=") for pair in element.split(";"))
        yield next((value for name, _, value in pairs if name.lower() == "for"), "")


def _address(text: str) -> Address | None:
    """The address in `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `"[2001:db8::1]:80"`."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _shown(address: Address | None) -> str:
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, IPV6_PREFIX), strict=False))
    return UNKNOWN if address is None else str(address)
