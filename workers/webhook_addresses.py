"""Which addresses webhooks may connect to: public ones, and those of allowed networks."""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
_AddressInfo = list[tuple[Any, ...]]

LOOKUPS_MAX = 8
"""Lookups at once. Others wait."""

_GLOBAL_UNICAST = IPv6Network("2000::/3")
"""The only part of IPv6 of which IANA assigns public addresses to hosts."""

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""NAT64, RFC 6052: the last 32 bits are an IPv4 address. In addresses of 64:ff9b:1::/48 (RFC 8215),
the position of the IPv4 address depends on the network, so they are rejected as not public."""


_SPECIAL = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # the metadata service of Azure, a public address
            "192.0.0.0/24",  # with 192.0.0.192, the metadata service of Oracle's older images
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # relays of 6to4
            "192.175.48.0/24",  # AS112
            "2001::/23",  # IETF protocols: Teredo, ORCHID, benchmarks
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
"""Networks of IANA's special-purpose registries that `is_global` accepts, some of them only in some
versions of Python (CVE-2024-4032), and metadata services of clouds at public addresses."""


class AddressRejected(Exception):
    """The host has an address that is neither public nor in an allowed network."""


class AddressRules:
    """Rejects private, loopback, link-local, multicast, reserved and other special-purpose
    addresses, and metadata services of clouds, outside of the allowed `networks`, also if an IPv6
    address contains such an IPv4 address."""

    def __init__(self, networks: Sequence[Network] = ()) -> None:
        self._networks = networks
        self._lookups: dict[tuple[str, int], asyncio.Future[_AddressInfo]] = {}
        # Not the event loop's threads, which connections to PostgreSQL and Redis need.
        self._threads = ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="webhook-lookup")

    def allows(self, address: Address) -> bool:
        """Whether a webhook may connect to the address."""
        embedded = _embedded_ipv4(address)
        if embedded is not None:
            return self.allows(embedded)
        if any(address in network for network in self._networks):
            return True
        if any(address in network for network in _SPECIAL):
            return False
        if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
            return False
        return address.is_global and not (address.is_multicast or address.is_reserved)

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """All addresses of a host: a name, or an address in any notation of `getaddrinfo`.

        Raises:
            AddressRejected: one of them is not allowed.
            OSError: the host has none.
        """
        infos = await self._look_up(host, port)
        addresses = list(dict.fromkeys(ip_address(str(info[4][0])) for info in infos))
        for address in addresses:
            if not self.allows(address):
                raise AddressRejected(
                    f"The address {address} of {host} is not public. KITH_WEBHOOKS_NETWORKS lists"
                    " the networks that are allowed."
                )
        return addresses

    async def _look_up(self, host: str, port: int) -> "_AddressInfo":
        """Look up a host. Concurrent callers share one lookup, because all endpoints share few
        threads, and a lookup occupies a thread until the name server answers, even if the caller
        was cancelled."""
        key = (host, port)
        running = self._lookups.get(key)
        if running is None:
            look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
            running = asyncio.get_running_loop().run_in_executor(self._threads, look_up)
            self._lookups[key] = running
            running.add_done_callback(lambda done: self._end_lookup(key, done))
        return await asyncio.shield(running)

    def _end_lookup(self, key: tuple[str, int], done: "asyncio.Future[_AddressInfo]") -> None:
        del self._lookups[key]
        if not done.cancelled():
            done.exception()  # mark it as retrieved, in case all callers were cancelled


def _embedded_ipv4(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address contains, or None."""
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
