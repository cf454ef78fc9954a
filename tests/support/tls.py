"""Terminate TLS in front of servers without it: the suite's Valkey is built without TLS."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.ports import free_ports
from tests.support.valkey_cluster import Cluster
from tests.support.waiting import until

HOST = "127.0.0.1"

POSTGRES_REQUEST = (8).to_bytes(4) + (80_877_103).to_bytes(4)
"""The message `SSLRequest`: its length and its code."""

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def certificate(folder: Path) -> Path:
    """A file with a new self-signed certificate for `HOST`, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kith tests")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / f"certificate-{signed.serial_number}.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return file


@asynccontextmanager
async def tls_proxy(
    reach: Callable[[], Awaitable[Streams]],
    file: Path,
    port: int,
    *,
    client_authority: Path | None = None,
    as_postgres: bool = False,
) -> AsyncIterator[None]:
    """Accept TLS connections at `port`, and forward each to a connection that `reach` opens.

    With `client_authority`, clients must have a certificate from it. With `as_postgres`, clients
    request TLS first, in the protocol of PostgreSQL; others are disconnected.
    """
    carriers: set[asyncio.Task[None]] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        carriers.add(task)
        task.add_done_callback(carriers.discard)
        writers = [writer]
        try:
            if as_postgres:
                await _answer_request(reader, writer)
            # Not by the server: it would not close a connection whose handshake has not ended.
            await writer.start_tls(context)
            far_reader, far_writer = await reach()
            writers.append(far_writer)
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, far_writer))
                both.create_task(_copy(far_reader, writer))
        except* (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            for one in writers:
                one.transport.abort()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_REQUIRED
    listener = await asyncio.start_server(carry, HOST, port)
    try:
        yield
    finally:
        listener.close()
        await asyncio.sleep(0.01)  # what was just accepted has a carrier then
        for carrier in carriers:
            carrier.cancel()
        await asyncio.gather(*carriers, return_exceptions=True)


async def _answer_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.readexactly(len(POSTGRES_REQUEST)) != POSTGRES_REQUEST:
        raise ConnectionResetError
    writer.write(b"S")


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError


@asynccontextmanager
async def server_over_tls(redis_url: str, folder: Path) -> AsyncIterator[str]:
    """The URL, with TLS, of the server at `redis_url`."""
    url = urlsplit(redis_url)
    (port,), file = free_ports(1), certificate(folder)
    async with tls_proxy(lambda: asyncio.open_unix_connection(url.path), file, port):
        yield f"rediss://{HOST}:{port}?{url.query}&ssl_ca_certs={file}"


@asynccontextmanager
async def cluster_over_tls(cluster: Cluster, folder: Path) -> AsyncIterator[str]:
    """The URL, with TLS, of a cluster whose servers announce the ports with TLS."""
    file, ports = certificate(folder), free_ports(len(cluster.servers))

    async def all_ports_are_announced() -> bool:
        result = [await server.ask("CLUSTER", "SLOTS") for server in cluster.servers]
        return all({part[2][1] for part in slots} == set(ports) for slots in result)

    async with AsyncExitStack() as listening:
        for server, port in zip(cluster.servers, ports, strict=True):
            reach = partial(asyncio.open_connection, HOST, server.port)
            await listening.enter_async_context(tls_proxy(reach, file, port))
            await server.ask("CONFIG", "SET", "cluster-announce-bus-port", server.port + 10_000)
            await server.ask("CONFIG", "SET", "cluster-announce-port", port)
        await until(all_ports_are_announced, "all servers announce the ports with TLS")
        yield f"rediss+cluster://{HOST}:{ports[0]}?ssl_ca_certs={file}"
