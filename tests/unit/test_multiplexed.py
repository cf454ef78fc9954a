"""One connection to Redis: when it counts as lost."""

import asyncio
from contextlib import suppress
from pathlib import Path

import hiredis
import pytest

from storage.redis.multiplexed import MultiplexedWire
from storage.redis.wire import WireError

TIMEOUT_S = 1.0
STEP_S = 0.3
REPLIES = 9
"""At one per `STEP_S`, they take longer than two time-outs. The first begins with the greeting."""


class SlowServer:
    """Answers the greeting at once, and each PING when the test allows it."""

    def __init__(self) -> None:
        self.allowed = asyncio.Semaphore(0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        commands = hiredis.Reader()
        try:
            while data := await reader.read(65_536):
                commands.feed(data)
                while (command := commands.gets()) is not False:
                    if command == [b"PING"]:
                        await self.allowed.acquire()
                    writer.write(b"+OK\r\n")
        finally:
            writer.close()


async def test_a_long_call_does_not_time_out_while_its_replies_arrive(tmp_path: Path) -> None:
    server = SlowServer()
    path = tmp_path / "redis.sock"
    async with await asyncio.start_unix_server(server.serve, path):
        wire = MultiplexedWire(f"unix://{path}", TIMEOUT_S)
        call = asyncio.ensure_future(wire.send([("PING",)] * REPLIES))
        for _ in range(REPLIES):
            await asyncio.wait([call], timeout=STEP_S)
            assert not call.done()
            server.allowed.release()
        assert await call == [b"OK"] * REPLIES
        await wire.close()


async def test_a_call_times_out_if_no_reply_arrives(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    async with await asyncio.start_unix_server(SlowServer().serve, path):
        wire = MultiplexedWire(f"unix://{path}", TIMEOUT_S)
        with pytest.raises(WireError, match="no reply within 1 s"):
            await wire.send([("PING",)] * REPLIES)
        await wire.close()


@pytest.mark.parametrize("iterations", range(8))
async def test_closing_also_closes_a_connection_that_is_being_opened(
    tmp_path: Path, iterations: int
) -> None:
    path, ended = tmp_path / "redis.sock", asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await SlowServer().serve(reader, writer)
        ended.set()

    async with await asyncio.start_unix_server(serve, path):
        wire = MultiplexedWire(f"unix://{path}", TIMEOUT_S)
        call = asyncio.ensure_future(wire.send([("GET", "a")]))
        for _ in range(1 + iterations):
            await asyncio.sleep(0)
        await wire.close()
        with suppress(WireError):
            await call
        async with asyncio.timeout(10):
            await ended.wait()
