"""Webhooks without servers: addresses, URLs, names, event types, signatures."""

import asyncio
import os
import socket
import threading
from ipaddress import ip_address, ip_network
from itertools import product

import pytest

from graph.bulk import BulkEventType
from graph.edge import Flags, Kind, Millis, UserId, Version
from graph.event import Event, EventType
from graph.webhook import (
    WebhookType,
    change_bit,
    change_mask,
    checked_name,
    types_named,
    webhook_type,
)
from storage.webhook_secrets import SecretBox, SecretUnreadable, new_secret
from tests.support.waiting import until
from workers.webhook_addresses import LOOKUPS_MAX, AddressRejected, AddressRules
from workers.webhook_client import check_url
from workers.webhook_requests import message_of, signature

REJECTED = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.168.1.1",
    "168.63.129.16",
    "192.0.0.9",
    "192.0.0.192",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.175.48.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "64:ff9b:1:7f00:0:100:808:808",
    "64:ff9b::a83f:8110",
    "2001::1",
    "2001:1::1",
    "2001:20::1",
    "2001:db8::1",
    "2620:4f:8000::1",
    "3fff::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%1",
    "fec0::1",
    "ff02::1",
]
ALLOWED = [
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::1",
]


@pytest.mark.parametrize("address", REJECTED)
def test_an_address_that_is_not_public_is_rejected(address: str) -> None:
    assert not AddressRules().allows(ip_address(address))


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_is_allowed(address: str) -> None:
    assert AddressRules().allows(ip_address(address))


def test_an_allowed_network_allows_its_addresses_and_no_others() -> None:
    rules = AddressRules((ip_network("10.1.0.0/16"), ip_network("fd00::/8")))
    assert rules.allows(ip_address("10.1.2.3"))
    assert rules.allows(ip_address("::ffff:10.1.2.3"))
    assert rules.allows(ip_address("fd12::1"))
    assert not rules.allows(ip_address("10.2.0.1"))
    assert not rules.allows(ip_address("127.0.0.1"))


async def test_a_host_is_not_looked_up_while_a_lookup_of_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its name server may not respond, and each lookup occupies a thread."""
    answer, lookups = threading.Event(), []

    def look_up(host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        lookups.append(host)
        assert answer.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    rules = AddressRules()
    for _ in range(20):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(rules.resolve("silent.example", 443), 0.001)
    waiting = asyncio.create_task(rules.resolve("silent.example", 443))
    await asyncio.sleep(0)
    answer.set()
    assert await waiting == [ip_address("93.184.216.34")]
    assert lookups == ["silent.example"]
    assert await rules.resolve("silent.example", 443) == [ip_address("93.184.216.34")]
    assert len(lookups) == 2


async def test_silent_name_servers_of_many_hosts_leave_a_thread_for_other_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connections to PostgreSQL and Redis look up their hosts in these threads."""
    answer, started = threading.Event(), list[bool]()

    def look_up(*_: object, **__: object) -> list[tuple[object, ...]]:
        started.append(True)
        assert answer.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def all_are_waiting() -> bool:
        return len(started) == min(threads, LOOKUPS_MAX)

    rules = AddressRules()
    threads = min(32, (os.cpu_count() or 1) + 4)  # of the event loop
    waiting = [
        asyncio.create_task(rules.resolve(f"silent-{number}.example", 443))
        for number in range(threads)
    ]
    try:
        await until(all_are_waiting, "as many lookups wait as may run at once")
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(int, "1") == 1
    finally:
        answer.set()
        await asyncio.gather(*waiting)


HOSTS = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0",
    "::1",
    "::ffff:127.0.0.1",
    "2852039166",
    "localhost",
]


@pytest.mark.parametrize("host", HOSTS)
async def test_a_local_host_is_rejected_in_every_notation(host: str) -> None:
    with pytest.raises((AddressRejected, OSError)):
        await AddressRules().resolve(host, 443)


@pytest.mark.parametrize(
    "answers",
    [["10.0.0.7"], ["93.184.216.34", "127.0.0.1"], ["::ffff:169.254.169.254"], ["fe80::1%2"]],
)
async def test_a_name_is_rejected_if_one_of_its_addresses_is(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*_: object, **__: object) -> list[object]:
        return [(0, socket.SOCK_STREAM, 6, "", (address, 443)) for address in answers]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(AddressRejected, match="is not public"):
        await AddressRules().resolve("hooks.example", 443)


async def test_a_name_with_public_addresses_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(*_: object, **__: object) -> list[object]:
        return [(0, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 443))] * 2

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    assert list(await AddressRules().resolve("hooks.example", 443)) == [ip_address("93.184.216.34")]


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "ftp://hooks.example/",
        "hooks.example",
        "https://",
        "https:///path",
        "https://user:secret@hooks.example/",
        "https://hooks.example/#part",
        "https://hooks.example:0/",
        "https://hooks.example:99999/",
        "https://hooks.example/a b",
        "https://hooks.example/\r\nX: y",
        "https://hööks.example/",
        f"https://hooks.example/{'a' * 2_000}",
    ],
)
def test_an_invalid_url_is_rejected(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        check_url(url, allows_http=False)


def test_a_url_may_be_http_if_that_is_allowed() -> None:
    check_url("https://hooks.example:8443/kith?tenant=7", allows_http=False)
    check_url("http://hooks.example/", allows_http=True)


@pytest.mark.parametrize("name", ["", "A", "1st", "a" * 41, "a_b", "a/b", "ä"])
def test_an_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters"):
        checked_name(name)


def test_an_unknown_type_is_rejected_and_an_empty_list_means_all() -> None:
    with pytest.raises(ValueError, match="'LIKED' is no event type"):
        types_named(["FOLLOWED", "LIKED"])
    assert types_named([]) == {*EventType, *BulkEventType}


ALL_FLAGS = [Flags(number) for number in range(2 * max(Flags))]


def test_the_mask_of_an_event_type_has_the_bits_of_all_its_changes() -> None:
    masks: dict[WebhookType, int] = {
        event_type: change_mask({event_type}) for event_type in EventType
    }
    assert all(0 <= mask < 2**63 for mask in masks.values())
    for before, after, old, new in product(Kind, Kind, ALL_FLAGS, ALL_FLAGS):
        for by_target in (False, True):
            actor = UserId(2 if by_target else 1)
            event = Event(
                *(Version(1), actor, UserId(1), UserId(2), before, after, Millis(0)), old, new
            )
            bit = change_bit(before, after, by_target=by_target)
            event_type = webhook_type(event)
            assert event_type is None or masks[event_type] >> bit & 1, event


def test_a_secret_is_decrypted_by_any_of_the_keys_and_by_no_other() -> None:
    first, second, third = "a" * 32, "b" * 32, "c" * 32
    secret = new_secret()
    stored = SecretBox([first]).encrypted(secret)
    assert secret not in stored
    assert SecretBox([second, first]).decrypted(stored) == secret
    with pytest.raises(SecretUnreadable, match="KITH_WEBHOOKS_ENCRYPTION_KEYS"):
        SecretBox([third]).decrypted(stored)


def test_a_signature_has_the_time_and_a_digest_for_each_secret() -> None:
    # printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_test
    digest = "35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91"
    signed = signature(b"{}", ["whsec_test", "whsec_other"], 1_700_000_000)
    assert signed.startswith(f"t=1700000000,v1={digest},v1=")
    assert signed.count("v1=") == 2


def test_the_body_is_the_same_for_every_attempt() -> None:
    event = Event(Version(5), UserId(1), UserId(1), UserId(2), Kind.NONE, Kind.FOLLOW, Millis(3))
    assert message_of(event, "public") == message_of(event, "public")
    assert message_of(event, "public").type == "FOLLOWED"
