"""Exports of whole lists over HTTP, for services."""

import asyncio
import csv
import io
import json
import logging
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import zstandard

from gateway.authentication.identify import DEVELOPMENT_SECRET, SERVICE, mint
from gateway.graphql.settings import StreamLimits
from gateway.services.export_lines import ExportLines
from graph.edge import Flags, Kind
from resolvers import exports
from storage.postgres.load.bulk_load import bulk_load
from storage.settings import StorageSettings
from storage.stores import Stores
from tests.support.bulk import as_client
from tests.support.edge_files import execute, write_edges
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows
from tests.support.http_client import http_client
from tests.support.live_gateway import live_gateway
from tests.support.waiting import until

STAR = 17
AS_SERVICE = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, None, SERVICE)}"}


async def get(
    gateway: Gateway, path: str, headers: Mapping[str, str] = AS_SERVICE
) -> httpx.Response:
    return await gateway.http.get(path, headers=headers)


def errors_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR]


async def lines(gateway: Gateway, path: str) -> list[dict[str, str]]:
    response = await get(gateway, path)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


async def ids(gateway: Gateway, path: str) -> list[str]:
    return [line["id"] for line in await lines(gateway, path)]


def error_of(response: httpx.Response) -> tuple[int, str]:
    (error,) = response.json()["errors"]
    return response.status_code, error["extensions"]["code"]


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Users 1 to 5 follow STAR, and 6 whispers. STAR follows 2 and 3, whispers to 8, blocks 9."""
    await follows(stores, *((follower, STAR) for follower in (1, 2, 3, 4, 5)))
    await follows(stores, (STAR, 2), (STAR, 3))
    await edges(stores, {(6, STAR): Kind.WHISPER, (STAR, 8): Kind.WHISPER, (STAR, 9): Kind.BLOCK})
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_each_list_is_exported_newest_first_by_kind(gateway: Gateway) -> None:
    assert await ids(gateway, f"/export/followers/{STAR}") == ["5", "4", "3", "2", "1", "6"]
    assert await ids(gateway, f"/export/following/{STAR}") == ["3", "2", "8"]
    assert await ids(gateway, f"/export/friends/{STAR}") == ["3", "2"]
    assert await ids(gateway, f"/export/blocks/{STAR}") == ["9"]
    assert await ids(gateway, "/export/followers/999") == []


@pytest.mark.usefixtures("graph")
async def test_a_line_has_the_same_values_as_the_list_in_graphql(gateway: Gateway) -> None:
    (newest, *_, whisper) = await lines(gateway, f"/export/followers/{STAR}")
    page = await gateway.data(
        '{ user(id: "17") { followers(first: 1) { edges { followedAt node { id } } } } }'
    )
    (edge,) = page["user"]["followers"]["edges"]
    assert (newest["id"], newest["since"]) == (edge["node"]["id"], edge["followedAt"])
    assert (newest["kind"], whisper["kind"]) == ("FOLLOW", "WHISPER")


async def test_with_notify_only_followers_with_notifications_are_exported(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "RANGE", 2)
    notify = Flags.NOTIFY
    await edges(
        stores,
        {
            (1, STAR): (Kind.FOLLOW, notify),
            (2, STAR): Kind.FOLLOW,
            (3, STAR): (Kind.FOLLOW, notify | Flags.CLOSE_FOLLOW),
            (4, STAR): (Kind.WHISPER, notify),
            (5, STAR): (Kind.FOLLOW, Flags.CLOSE_FOLLOW),
            (6, STAR): (Kind.FOLLOW, notify | Flags.MUTED),
            (7, STAR): (Kind.REQUEST, notify),
            (1, 2): (Kind.FOLLOW, notify),
        },
    )
    await drain_all(stores)
    path = f"/export/followers/{STAR}"
    whole = await lines(gateway, f"{path}?notify=true")
    assert {line["id"] for line in whole[:3]} == {"1", "3", "6"}
    assert [line["id"] for line in whole[3:]] == ["4"]
    for position, line in enumerate(whole):
        rest = await lines(gateway, f"{path}?notify=true&after={line['cursor']}")
        assert rest == whole[position + 1 :]
    assert await ids(gateway, f"{path}?notify=false") == await ids(gateway, path)
    assert len(await ids(gateway, path)) == 6


@pytest.mark.parametrize("path", ["following/1?notify=true", "followers/1?notify=yes"])
async def test_notify_with_another_list_or_value_is_rejected(gateway: Gateway, path: str) -> None:
    response = await get(gateway, f"/export/{path}")
    assert error_of(response) == (400, "BAD_USER_INPUT")
    assert "notify" in response.text


async def test_a_friendship_has_the_date_of_the_later_follow(
    gateway: Gateway, stores: Stores
) -> None:
    await follows(stores, (STAR, 2), (2, STAR))
    await drain_all(stores)
    (friend,) = await lines(gateway, f"/export/friends/{STAR}")
    (follower,) = await lines(gateway, f"/export/followers/{STAR}")
    assert friend["since"] == follower["since"]


@pytest.mark.usefixtures("graph")
async def test_an_export_continues_after_any_line(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "RANGE", 2)
    for name in ("followers", "following", "friends", "blocks"):
        path = f"/export/{name}/{STAR}"
        whole = await lines(gateway, path)
        for position, line in enumerate(whole):
            rest = await lines(gateway, f"{path}?after={line['cursor']}")
            assert rest == whole[position + 1 :]


@pytest.mark.usefixtures("graph")
async def test_the_fields_and_the_format_are_chosen(gateway: Gateway) -> None:
    path = f"/export/followers/{STAR}?format=csv&fields=id,kind"
    response = await get(gateway, path)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(response.text)))
    assert rows[:2] == [["id", "kind"], ["5", "FOLLOW"]]
    assert rows[-1] == ["6", "WHISPER"]
    assert await lines(gateway, f"/export/blocks/{STAR}?fields=id") == [{"id": "9"}]


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("accepted", ["gzip, zstd", "gzip;q=1.0, ZSTD; q=0.8", "zstd;q=1.000"])
async def test_a_client_that_accepts_zstd_gets_it(gateway: Gateway, accepted: str) -> None:
    plain = await get(gateway, f"/export/followers/{STAR}")
    headers = {**AS_SERVICE, "accept-encoding": accepted}
    async with gateway.http.stream("GET", f"/export/followers/{STAR}", headers=headers) as response:
        raw = b"".join([part async for part in response.aiter_raw()])
    assert response.headers["content-encoding"] == "zstd"
    assert zstandard.ZstdDecompressor().decompressobj().decompress(raw) == plain.content


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("accepted", ["gzip, zstd;q=0", "zstd; Q=0.00", "zstdx", ""])
async def test_a_client_that_does_not_accept_zstd_gets_text(
    gateway: Gateway, accepted: str
) -> None:
    headers = {**AS_SERVICE, "accept-encoding": accepted}
    response = await gateway.http.get(f"/export/followers/{STAR}", headers=headers)
    assert "content-encoding" not in response.headers
    assert response.text.startswith("{")


async def test_absent_accounts_are_left_out(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, STAR), (2, STAR))
    await drain_all(stores)
    mutation = "mutation { deactivateAccount(input: { userId: 2 }) { outcome } }"
    await gateway.as_service.data(mutation)
    assert await ids(gateway, f"/export/followers/{STAR}") == ["1"]


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/export/admirers/17", "list"),
        ("/export/followers/one", "user"),
        ("/export/followers/0", "user"),
        ("/export/followers/17?format=xml", "format"),
        ("/export/followers/17?fields=id,name", "fields"),
        ("/export/followers/17?fields=id,id", "fields"),
        ("/export/followers/17?fields=", "fields"),
        ("/export/followers/17?after=1", "after"),
        ("/export/followers/17?after=4-1-1", "after"),
        ("/export/followers/17?after=1-999999999999999-1", "after"),
        ("/export/followers/17?limit=5", "limit"),
        ("/export/followers/17?fields=id&fields=id", "fields"),
        ("/changes?follow=maybe", "follow"),
        ("/changes?after=", "after"),
        ("/changes?after=AAAA", "after"),
        (f"/changes?follow=false&after={'A' * 220}", "after"),
    ],
)
async def test_the_error_names_the_invalid_parameter(
    gateway: Gateway, path: str, parameter: str
) -> None:
    response = await get(gateway, path)
    assert error_of(response) == (400, "BAD_USER_INPUT")
    assert f"`{parameter}`" in response.text


@pytest.mark.parametrize("path", ["/export/followers/17", "/changes?follow=false"])
async def test_only_services_get_exports_and_changes(gateway: Gateway, path: str) -> None:
    user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5)}"}
    assert error_of(await get(gateway, path, user)) == (403, "FORBIDDEN")
    assert error_of(await get(gateway, path, {})) == (403, "FORBIDDEN")
    invalid = {"authorization": "Bearer nonsense"}
    assert error_of(await get(gateway, path, invalid)) == (401, "UNAUTHENTICATED")
    posted = await gateway.http.post(path, headers=AS_SERVICE)
    assert error_of(posted) == (405, "METHOD_NOT_ALLOWED")


@pytest.mark.parametrize("path", ["/export/followers/17", "/changes?follow=false"])
async def test_a_service_that_acts_for_a_user_does_not_get_what_the_user_may_not_see(
    gateway: Gateway, path: str
) -> None:
    for_user = {"authorization": f"Bearer {mint(DEVELOPMENT_SECRET, 5, SERVICE)}"}
    assert error_of(await get(gateway, path, for_user)) == (403, "FORBIDDEN")


async def test_exports_and_rejected_exports_are_audited(
    gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kith.audit")
    await get(gateway, "/export/followers/17")
    await get(gateway, "/changes?follow=false")
    await get(gateway, "/export/followers/17", {})
    audited = [
        [getattr(record, name, None) for name in ("actor", "action", "target", "result")]
        for record in caplog.records
    ]
    assert audited == [
        ["service", "export followers", 17, "OK"],
        ["service", "changes", None, "OK"],
        ["anonymous", "export followers", 17, "FORBIDDEN"],
    ]


@pytest.mark.usefixtures("graph")
async def test_the_changes_after_an_export_begin_with_its_cursor(
    gateway: Gateway, stores: Stores
) -> None:
    exported = await get(gateway, f"/export/followers/{STAR}")
    await follows(stores, (7, STAR))
    await drain_all(stores)
    cursor = exported.headers["kith-changes-cursor"]
    assert await changed_pairs(gateway, cursor) == [("7", str(STAR))]


async def changed_pairs(gateway: Gateway, cursor: str) -> list[tuple[str, str]]:
    """The source and the target of each change after a cursor."""
    batches = await lines(gateway, f"/changes?follow=false&after={cursor}")
    changes: list[Any] = [change for batch in batches for change in batch["changes"]]
    return [(change["source"], change["target"]) for change in changes]


async def feed_end(gateway: Gateway) -> str:
    """The cursor at the end of the change feed."""
    (batch,) = await lines(gateway, "/changes?follow=false")
    assert not batch["changes"]
    return batch["cursor"]


async def test_changes_continue_after_any_batch(
    gateway: Gateway, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "CHANGES_AT_ONCE", 2)
    cursor = await feed_end(gateway)
    await follows(stores, *((follower, target) for follower in range(1, 8) for target in (8, 9)))
    await drain_all(stores)
    whole = await lines(gateway, f"/changes?follow=false&after={cursor}")
    seen: list[Any] = []
    for position, batch in enumerate(whole):
        rest = await lines(gateway, f"/changes?follow=false&after={batch['cursor']}")
        assert rest == whole[position + 1 :] or (batch is whole[-1] and not rest[0]["changes"])
        seen += batch["changes"]
    assert len({change["id"] for change in seen}) == len(seen) == 14
    assert {(change["before"], change["after"]) for change in seen} == {("NONE", "FOLLOW")}


async def test_a_cursor_before_lost_changes_is_rejected(gateway: Gateway, stores: Stores) -> None:
    start = await feed_end(gateway)
    await follows(stores, (1, STAR), (2, STAR))
    await drain_all(stores)
    redis = stores.servers.redis
    streams = [f"kith:public:events:{group}" for group in range(8)]
    assert len(await changed_pairs(gateway, start)) == 2
    await redis.pipe([("XTRIM", stream, "MAXLEN", 1) for stream in streams])
    response = await get(gateway, f"/changes?follow=false&after={start}")
    assert error_of(response) == (410, "CHANGES_LOST")
    # Entries are trimmed after they were read: nothing is lost.
    now = await feed_end(gateway)
    await redis.pipe([("XTRIM", stream, "MAXLEN", 0) for stream in streams])
    assert await changed_pairs(gateway, now) == []
    await follows(stores, (3, STAR))
    await drain_all(stores)
    assert await changed_pairs(gateway, now) == [("3", str(STAR))]
    # Redis has lost everything.
    await redis.pipe([("FLUSHDB",)])
    assert error_of(await get(gateway, f"/changes?follow=false&after={now}")) == (
        *(410, "CHANGES_LOST"),
    )


async def test_lost_changes_are_noticed_after_as_many_new_ones(
    gateway: Gateway, stores: Stores
) -> None:
    at_the_beginning = await feed_end(gateway)
    await follows(stores, (1, STAR), (2, STAR))
    await drain_all(stores)
    after_two = await feed_end(gateway)
    await stores.servers.redis.pipe([("FLUSHDB",)])
    for follower in range(3, 8):
        await follows(stores, (follower, STAR))
        await drain_all(stores)
        for cursor in (at_the_beginning, after_two):
            response = await get(gateway, f"/changes?follow=false&after={cursor}")
            assert error_of(response) == (410, "CHANGES_LOST")


async def test_a_cursor_of_another_space_is_rejected(gateway: Gateway) -> None:
    other = "AQ" + (await feed_end(gateway))[2:-4] + "AAA="
    response = await get(gateway, f"/changes?after={other}")
    assert error_of(response) == (400, "BAD_USER_INPUT")


@pytest.mark.parametrize("cursor", ["", "=", "A=", "é", "0-0"])
async def test_an_invalid_cursor_is_rejected(gateway: Gateway, cursor: str) -> None:
    """Each text alone, and followed by As up to the length of a valid cursor."""
    padded = cursor + "A" * (len(await feed_end(gateway)) - len(cursor))
    for given in (cursor, padded):
        headers = [(name.encode(), value.encode()) for name, value in AS_SERVICE.items()]
        headers.append((b"last-event-id", given.encode()))
        response = await gateway.http.get("/changes", headers=headers)
        assert error_of(response) == (400, "BAD_USER_INPUT")


async def test_changes_arrive_while_the_stream_is_open(
    storage_settings: StorageSettings, stores: Stores
) -> None:
    accept = {**AS_SERVICE, "accept": "text/event-stream"}
    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=20) as client,
        client.stream("GET", "/changes", headers=accept) as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        received = response.aiter_lines()
        first = [await anext(received) for _ in range(4)]
        assert first[0] == "event: changes"
        assert first[2:] == ["data: []", ""]
        await follows(stores, (1, STAR))
        await drain_all(stores)
        async with asyncio.timeout(20):
            (_, last_id, data, _) = [await anext(received) for _ in range(4)]
        (change,) = json.loads(data.removeprefix("data: "))
        assert (change["source"], change["target"]) == ("1", str(STAR))
        resumed = {**AS_SERVICE, "last-event-id": last_id.removeprefix("id: ")}
        answer = await client.get("/changes?follow=false", headers=resumed)
        assert answer.json()["changes"] == []


async def test_the_number_of_streams_is_bounded(
    storage_settings: StorageSettings,
) -> None:
    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=20) as client,
    ):
        limit = live.app._config.clients.streams.changes_max
        async with AsyncExitStack() as opened:

            async def open_streams(headers: Mapping[str, str], count: int) -> None:
                for _ in range(count):
                    stream = client.stream("GET", "/changes", headers=headers)
                    assert (await opened.enter_async_context(stream)).status_code == 200

            async def assert_rejected(headers: Mapping[str, str]) -> None:
                rejected = await client.get("/changes", headers=headers)
                assert error_of(rejected) == (503, "OVERLOADED")
                assert rejected.headers["retry-after"]

            own_limit = limit * 3 // 4
            await open_streams(as_client("greedy"), own_limit)
            await assert_rejected(as_client("greedy"))
            await open_streams(as_client("other"), limit - own_limit)
            await assert_rejected(as_client("other"))
            await assert_rejected(AS_SERVICE)


async def test_a_client_that_does_not_read_is_disconnected(
    storage_settings: StorageSettings,
    stores: Stores,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(ExportLines, "formatted", lambda *_: b"x" * 100_000)
    monkeypatch.setattr(exports, "RANGE", 1)
    await follows(stores, *((follower, STAR) for follower in range(100, 250)))
    await drain_all(stores)
    limits = StreamLimits(send_deadline_ms=100, exports_max=1)
    async with (
        live_gateway(storage_settings, streams=limits) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=20) as client,
    ):
        with socket.socket() as slow:
            slow.setblocking(False)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(slow, ("127.0.0.1", live.port))
            head = f"GET /export/followers/{STAR} HTTP/1.1\r\nHost: kith\r\n"
            head += f"Authorization: {AS_SERVICE['authorization']}\r\n\r\n"
            await loop.sock_sendall(slow, head.encode())
            assert await loop.sock_recv(slow, 1)  # the export has begun, and the rest is not read

            async def another_export_may_begin() -> bool:
                path = "/export/followers/1"
                return (await client.get(path, headers=AS_SERVICE)).status_code == 200

            await until(another_export_may_begin)
            size, end = 1, b""
            while part := await loop.sock_recv(slow, 1 << 20):
                size, end = size + len(part), (end + part)[-5:]
            assert size < 150 * 100_000
            assert end != b"0\r\n\r\n"
    assert errors_in(caplog) == []


async def test_a_stream_of_changes_is_cut_off_without_an_error_in_the_log_when_its_gateway_stops(
    storage_settings: StorageSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=20) as client,
        client.stream("GET", "/changes", headers=AS_SERVICE) as response,
    ):
        received = response.aiter_lines()
        await anext(received)
        await live.app.close_connections()
        with pytest.raises(httpx.RemoteProtocolError):
            await anext(received)
    assert errors_in(caplog) == []


async def test_a_stream_of_changes_is_cut_off_without_an_error_in_the_log_when_redis_loses_its_data(
    storage_settings: StorageSettings, stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        live_gateway(storage_settings) as live,
        http_client(base_url=f"http://127.0.0.1:{live.port}", timeout=20) as client,
    ):
        async with client.stream("GET", "/changes", headers=AS_SERVICE) as response:
            received = response.aiter_lines()
            await follows(stores, (1, STAR), (2, STAR))
            await drain_all(stores)
            changes: list[Any] = []
            while len(changes) < 2:
                batch = json.loads(await anext(received))
                changes += batch["changes"]
            await stores.servers.redis.pipe([("FLUSHDB",)])
            await follows(stores, (3, STAR))  # wakes the stream
            await drain_all(stores)
            with pytest.raises(httpx.RemoteProtocolError):
                await anext(received)
        again = await client.get(f"/changes?after={batch['cursor']}", headers=AS_SERVICE)
        assert error_of(again) == (410, "CHANGES_LOST")
    assert errors_in(caplog) == []


async def test_many_friends_are_in_the_order_of_the_users_own_follows(
    gateway: Gateway,
    storage_settings: StorageSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exports, "RANGE", 100)
    follows_of_star = [(STAR, STAR + n, n * 7919 % 1_009) for n in range(1, 400)]
    follows_back = [(STAR + n, STAR, n) for n in range(1, 400)]
    await bulk_load(
        storage_settings, write_edges(tmp_path / "f.csv", follows_of_star + follows_back)
    )
    # Other joins than nested loops return the rows in another order.
    database = urlsplit(storage_settings.database_url).path.removeprefix("/")
    await execute(storage_settings, f"ALTER DATABASE {database} SET enable_nestloop = off")
    expected = sorted(((since, user) for _, user, since in follows_of_star), reverse=True)
    found = await ids(gateway, f"/export/friends/{STAR}?fields=id")
    assert found == [str(user) for _, user in expected]
