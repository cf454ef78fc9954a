"""The address of a Redis server, from its URL."""

import ssl
from pathlib import Path

import pytest

from storage.redis.address import parse_address
from storage.redis.sentinel import parse_group_url
from tests.support.tls import certificate


def test_an_address_has_credentials_and_a_database() -> None:
    address = parse_address("redis://kith:p%40ss@cache:6380/3")
    assert (address.host, address.port, address.path) == ("cache", 6380, None)
    assert (address.username, address.password, address.database) == ("kith", "p@ss", 3)
    assert address.tls is None
    assert str(address) == "cache:6380"


def test_an_address_may_be_a_unix_socket() -> None:
    address = parse_address("unix:///run/valkey.sock?db=2")
    assert (address.path, address.database, address.tls) == ("/run/valkey.sock", 2, None)
    assert str(address) == "/run/valkey.sock"


def test_tls_verifies_certificate_and_host_name_by_default() -> None:
    tls = parse_address("rediss://cache").tls
    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.parametrize(
    ("options", "mode", "is_host_checked"),
    [
        ("ssl_check_hostname=false", ssl.CERT_REQUIRED, False),
        ("ssl_cert_reqs=none", ssl.CERT_NONE, False),
        ("ssl_cert_reqs=required&ssl_check_hostname=true", ssl.CERT_REQUIRED, True),
    ],
)
def test_parameters_of_the_url_set_the_verification(
    options: str, mode: ssl.VerifyMode, is_host_checked: bool
) -> None:
    tls = parse_address(f"rediss://cache?{options}").tls
    assert tls is not None
    assert (tls.verify_mode, tls.check_hostname) == (mode, is_host_checked)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("ssl_ca_certs=/no/such/ca.pem", "ssl_ca_certs of the Redis URL cannot be used"),
        ("ssl_ca_data=none", "ssl_ca_data of the Redis URL cannot be used"),
        ("ssl_certfile=/no/such.pem", "ssl_certfile or ssl_keyfile of the Redis URL cannot be"),
        ("ssl_ciphers=none", "ssl_ciphers of the Redis URL cannot be used"),
        ("ssl_cert_reqs=often", "ssl_cert_reqs is 'often'; it must be none, optional, required"),
        (
            "ssl_ca_cert=/etc/ca.pem",
            "ssl_ca_cert is unknown in a Redis URL; known are ssl_ca",
        ),
    ],
)
def test_the_error_for_an_invalid_parameter_names_it(options: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_address(f"rediss://cache?{options}")


def test_only_the_given_certificate_authorities_are_trusted(tmp_path: Path) -> None:
    tls = parse_address(f"rediss://cache?ssl_ca_certs={certificate(tmp_path)}").tls
    assert tls is not None
    assert len(tls.get_ca_certs()) == 1


@pytest.mark.parametrize(
    ("hosts", "address"),
    [
        ("one", ("one", 26_379)),
        ("one:5000", ("one", 5000)),
        ("10.0.0.1:5000", ("10.0.0.1", 5000)),
        ("[fe80::1]", ("fe80::1", 26_379)),
        ("[fe80::1]:5000", ("fe80::1", 5000)),
    ],
)
def test_a_sentinel_has_a_host_and_a_port(hosts: str, address: tuple[str, int]) -> None:
    assert parse_group_url(f"redis+sentinel://{hosts}/main").sentinels == (address,)


@pytest.mark.parametrize("hosts", ["::1", "fe80::1", "one:", "one:0", "one:70000", "one,"])
def test_hosts_that_name_no_sentinel_are_rejected(hosts: str) -> None:
    with pytest.raises(ValueError, match="must name each sentinel as host:port"):
        parse_group_url(f"redis+sentinel://{hosts}/main")
