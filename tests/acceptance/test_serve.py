"""`kith serve` as operators run it: several processes, a unix socket, metrics and a JSON log."""

import asyncio
import json
import os
import re
import signal
import socket
import stat
from pathlib import Path

import httpx
import pytest

from storage.settings import StorageSettings
from tests.support.serve_process import DEADLINE_S, Serve, asked, rejected, serving
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(
    not Path("/proc").exists(), reason="the tests find processes in /proc"
)

QUERY = '{ user(id: "1") { followerCount } }'
EXPECTED = {"data": {"user": {"followerCount": 0}}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The unix socket of the gateway."""
    return tmp_path / "kith.sock"


def is_socket(path: Path) -> bool:
    return path.is_socket()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_killed_process_is_replaced_while_the_others_answer(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path, "--workers", "2") as serve:
        before = serve.children()
        assert len(before) == 2
        replaced = asyncio.Event()
        clients = [asyncio.create_task(request_until(serve, replaced)) for _ in range(16)]
        os.kill(before[0], signal.SIGKILL)
        await serve.says("Application startup complete", times=3)
        replaced.set()
        async with asyncio.timeout(DEADLINE_S):
            unanswered = sum(await asyncio.gather(*clients))
        assert unanswered <= len(clients)  # only what the killed process had accepted
        after = serve.children()
        assert len(after) == 2
        assert before[0] not in after
        assert before[1] in after


async def request_until(serve: Serve, end: asyncio.Event) -> int:
    """Send requests until `end` is set, and one more. Returns how many were not answered."""
    unanswered = 0
    async with serve.http() as http:
        while True:
            is_last = end.is_set()
            try:
                assert await asked(http, QUERY) == EXPECTED
            except httpx.TransportError:
                assert not is_last
                unanswered += 1
            if is_last:
                return unanswered


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_request_finishes_after_the_stop_signal(
    storage_settings: StorageSettings, path: Path, workers: str, how: signal.Signals
) -> None:
    async with serving(storage_settings, path, "--workers", workers) as serve:
        reader, writer = await asyncio.open_unix_connection(path)
        body = json.dumps({"query": QUERY}).encode()
        head = "POST /graphql HTTP/1.1\r\nhost: kith\r\ncontent-type: application/json\r\n"
        head += f"content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n"
        writer.write(head.encode())
        async with asyncio.timeout(DEADLINE_S):
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        serve.process.send_signal(how)
        await serve.says("Shutting down", times=int(workers))
        # A proxy uses another gateway at once: a connection that is accepted and not served would
        # make its client wait for the end of this one.
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_unix_connection(path)
        writer.write(body)
        async with asyncio.timeout(DEADLINE_S):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == EXPECTED
        assert await serve.code() == 0
        assert not is_socket(path)
        assert not [line for line in serve.lines if "Traceback" in line]


async def test_sighup_replaces_the_processes_without_losing_a_request(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path, "--workers", "2") as serve:
        before = set(serve.children())
        renewed = asyncio.Event()
        clients = [
            asyncio.create_task(request_on_new_connections_until(serve, renewed)) for _ in range(4)
        ]
        serve.process.send_signal(signal.SIGHUP)

        async def all_are_new() -> bool:
            now = set(serve.children())
            return len(now) == 2 and not now & before

        await until(all_are_new, "both processes are new")
        renewed.set()
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.gather(*clients)


async def request_on_new_connections_until(serve: Serve, end: asyncio.Event) -> None:
    """Send requests until `end` is set, each on a new connection."""
    while not end.is_set():
        async with serve.http() as http:
            assert await asked(http, QUERY) == EXPECTED


async def test_sighup_with_an_invalid_setting_is_ignored(
    storage_settings: StorageSettings, path: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x" * 32)
    changes = {"KITH_JWT_SECRET_FILE": str(secret)}
    arguments = ("--workers", "2")
    async with serving(storage_settings, path, *arguments, changes=changes) as serve:
        before = serve.children()
        secret.write_text("short")
        serve.process.send_signal(signal.SIGHUP)
        await serve.says("SIGHUP ignored")
        assert serve.children() == before
        assert await serve.is_ready()


async def test_one_scrape_returns_the_metrics_of_all_processes(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path, "--workers", "2") as serve:
        for _ in range(10):
            async with serve.http() as http:
                await asked(http, QUERY)
        async with serve.http() as http:
            text = (await http.get("/metrics")).text
        for process in "01":
            assert f'kith_process_up{{process="{process}"}} 1.0' in text
        planned = re.findall(
            r'^kith_engine_planned_total{process="[01]"} (.+)$', text, re.MULTILINE
        )
        assert sum(map(float, planned)) == 10
        assert len(re.findall(r"^# TYPE kith_engine_planned_total ", text, re.MULTILINE)) == 1
        assert re.search(r'^kith_outbox_changes{lane="0"} 0.0$', text, re.MULTILINE)


async def test_a_scrape_shows_which_process_does_not_respond(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path, "--workers", "2") as serve:
        stopped = serve.children()[0]
        os.kill(stopped, signal.SIGSTOP)
        async with serve.http() as http:
            text = (await http.get("/metrics")).text
        os.kill(stopped, signal.SIGCONT)
        assert 'kith_process_up{process="0"} 0.0' in text
        assert 'kith_process_up{process="1"} 1.0' in text


async def test_the_metrics_of_one_process_have_no_label_for_it(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path) as serve, serve.http() as http:
        text = (await http.get("/metrics")).text
    assert "process=" not in text
    assert re.search(r"^kith_engine_planned_total 0.0$", text, re.MULTILINE)
    assert re.search(r'^kith_outbox_changes{lane="0"} 0.0$', text, re.MULTILINE)


async def test_an_invalid_setting_is_reported_once(
    storage_settings: StorageSettings, path: Path
) -> None:
    arguments = ("--workers", "3", "--uds", str(path))
    code, lines = await rejected(storage_settings, *arguments, KITH_POOL_MAX="0")
    assert code == 2
    assert lines == ["kith: KITH_POOL_MAX is '0'; it must be a whole number, 1 to 100."]


async def test_a_socket_has_the_permissions_of_uds_mode(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path):
        assert mode_of(path) == 0o660
    async with serving(storage_settings, path, "--uds-mode", "600"):
        assert mode_of(path) == 0o600
    assert not is_socket(path)


async def test_the_socket_file_of_a_killed_process_is_replaced(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path) as serve:
        await serve.end(signal.SIGKILL)
    assert is_socket(path)
    async with serving(storage_settings, path) as serve, serve.http() as http:
        assert await asked(http, QUERY) == EXPECTED


async def test_a_socket_that_is_in_use_is_not_taken_over(
    storage_settings: StorageSettings, path: Path
) -> None:
    async with serving(storage_settings, path) as serve:
        code, lines = await rejected(storage_settings, "--uds", str(path))
        assert code == 2
        assert lines == [f"kith: --uds: another process listens on {path}. Stop it first."]
        assert await serve.is_ready()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--uds", "{file}"), "--uds: {file} exists and is not a socket. It was left as it is."),
        (
            ("--uds", "{folder}/none/kith.sock"),
            "cannot listen on unix:{folder}/none/kith.sock: No ",
        ),
        (("--uds", "{folder}/" + "d" * 120), "is longer than the 103 bytes"),
        (("--uds", "{folder}/s", "--port", "8000"), "--uds replaces --host and --port"),
        (("--uds", "{folder}/s", "--uds-mode", "rw"), "three octal digits"),
        (("--host", "192.0.2.1"), "cannot listen on 192.0.2.1:8000: Cannot assign"),
        (("--host", "no-such-host.invalid"), "cannot listen on no-such-host.invalid:8000: "),
    ],
)
async def test_an_address_that_cannot_be_used_is_reported_in_one_line(
    storage_settings: StorageSettings, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "file"
    file.write_text("precious")
    names = {"file": str(file), "folder": str(tmp_path)}
    code, lines = await rejected(storage_settings, *(text.format(**names) for text in arguments))
    assert code == 2
    (line,) = lines
    assert message.format(**names) in line
    assert file.read_text() == "precious"


async def test_a_port_that_is_in_use_is_reported_in_one_line(
    storage_settings: StorageSettings,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, lines = await rejected(storage_settings, "--port", str(port), "--workers", "2")
    assert code == 2
    (line,) = lines
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use." in line


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_every_line_of_a_json_log_parses(
    storage_settings: StorageSettings, path: Path, workers: str
) -> None:
    arguments = ("--workers", workers, "--log-format", "json")
    async with serving(storage_settings, path, *arguments) as serve:
        if workers == "2":
            os.kill(serve.children()[0], signal.SIGKILL)
        assert await serve.is_ready()
    records = [json.loads(line) for line in serve.lines]
    assert records
    for record in records:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record["time"])
        assert {"level", "logger", "message", "process"} <= record.keys()


async def test_an_invalid_setting_is_one_json_line_in_a_json_log(
    storage_settings: StorageSettings, path: Path
) -> None:
    arguments = ("--uds", str(path), "--log-format", "json", "--workers", "2")
    code, lines = await rejected(storage_settings, *arguments, KITH_POOL_MAX="0")
    assert code == 2
    (line,) = lines
    record = json.loads(line)
    assert (record["level"], record["logger"]) == ("CRITICAL", "gateway")
    assert record["message"].startswith("KITH_POOL_MAX is '0'")
