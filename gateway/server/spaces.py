"""The spaces that this process serves: opened by their first request, closed when idle."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from time import monotonic

from prometheus_client import Gauge

from gateway.http.rejection import HttpRejection
from gateway.server.served_space import ServedSpace
from gateway.spaces.names import unknown_space
from gateway.spaces.replacements import Replacements
from gateway.spaces.settings import SpacesSettings
from graph.errors import Unavailable
from storage.postgres.spaces import (
    DIRECTORY_CHECK_S,
    SpaceDirectory,
    SpaceRecord,
    SpaceState,
)

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 0.2
"""The directory is not read more often than this for names that it does not have."""

OPEN_AGAIN_S = 2.0
"""A space that could not be opened is not opened again before: anybody may send a request to it,
and each attempt takes 4 ms and logs an error."""

CLOSE_S = 15.0
"""How long requests of a closed space may take, longer than the deadline of any."""

_open_spaces = Gauge("kith_spaces_open", "Spaces that this process has open.")

OpenSpace = Callable[[SpaceRecord], AbstractAsyncContextManager[ServedSpace]]


class SpaceUse:
    """The use of a space by a request or by a connection, until `leave`."""

    def __init__(self, space: ServedSpace, opened: "_Opened | None" = None) -> None:
        self.space = space
        self._opened = opened

    def leave(self) -> None:
        """End the use."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.leave()


class _Opened:
    """An open space. Its task holds its stores, which it closes when the space has been retired and
    the last use has ended."""

    def __init__(self, record: SpaceRecord, open_space: OpenSpace) -> None:
        self.record = record
        self.uses = 0
        self.used_at = monotonic()
        self.unused = asyncio.Event()
        """Set when the last use ends."""
        self.space: asyncio.Future[ServedSpace] = asyncio.get_running_loop().create_future()
        """Done when the space is open, or could not be opened."""
        self._retired = asyncio.Event()
        self.task = asyncio.create_task(self._run(open_space))

    def leave(self) -> None:
        """End a use."""
        self.uses -= 1
        self.used_at = monotonic()
        if not self.uses:
            self.unused.set()

    def retire(self) -> None:
        """End its long-lived connections, and close it when its requests have ended, or after
        `CLOSE_S`."""
        self._retired.set()

    async def _run(self, open_space: OpenSpace) -> None:
        try:
            async with open_space(self.record) as space:
                _open_spaces.inc()
                try:
                    self.space.set_result(space)
                    await self._retired.wait()
                    space.connections.end()
                    await self._until_unused()
                finally:
                    _open_spaces.dec()
        except Exception as error:
            log.exception("the space %s has failed", self.record.name)
            if not self.space.done():
                self.space.set_exception(error)
                self.space.exception()  # it may be that nobody waits for it any more

    async def _until_unused(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                while self.uses:
                    self.unused.clear()
                    await self.unused.wait()


class Spaces:
    """The default space, which is open as long as this object, and those of the directory."""

    def __init__(
        self,
        default: ServedSpace,
        directory: SpaceDirectory,
        open_space: OpenSpace,
        settings: SpacesSettings,
    ) -> None:
        self._default = default
        self._directory = directory
        self._open_space = open_space
        self._settings = settings
        self._records: Mapping[str, SpaceRecord] | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()
        self._open: dict[str, _Opened] = {}
        """By name, in the order of their last use."""
        self._retired: set[asyncio.Task[None]] = set()
        """The tasks of the spaces that are being closed."""
        self._failed: dict[str, tuple[SpaceRecord, float]] = {}
        """By name: the record that could not be opened, and when."""
        self._replacements = Replacements()

    def __iter__(self) -> Iterator[ServedSpace]:
        """The spaces that are open now."""
        yield self._default
        for opened in self._open.values():
            if opened.space.done() and opened.space.exception() is None:
                yield opened.space.result()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Poll the directory for as long as the block runs, and then close all spaces."""
        polling = asyncio.create_task(self._poll_directory())
        try:
            yield
        finally:
            polling.cancel()
            for name in list(self._open):
                self._retire(name)
            await asyncio.gather(polling, *self._retired, return_exceptions=True)

    async def enter(self, name: str, address: str) -> SpaceUse:
        """Use a space for a request from an address. The caller must `leave` it.

        Raises:
            HttpRejection: 404 SPACE_UNKNOWN; 503 UNAVAILABLE if it cannot be opened; 503 OVERLOADED
                if too many other spaces are in use, or were opened a short time ago.
        """
        if name == self._default.name:
            return SpaceUse(self._default)
        opened = self._open.get(name) or await self._find_or_open(name, address)
        self._open[name] = self._open.pop(name)
        opened.uses += 1  # before the wait, so that it is not closed meanwhile
        try:
            return SpaceUse(await asyncio.shield(opened.space), opened)
        except BaseException as error:
            opened.leave()
            if isinstance(error, asyncio.CancelledError):
                raise
            self._retire(name)
            self._failed[name] = opened.record, monotonic()
            raise _unavailable(name) from error

    async def _find_or_open(self, name: str, address: str) -> _Opened:
        """The space, which may still be opening. Raises HttpRejection as `enter`."""
        record = await self._find_record(name)
        if (opened := self._open.get(name)) is not None:  # another request has opened it
            return opened
        self._check_failed(record)
        if len(self._open) >= self._settings.open_max:
            self._make_room(address)
        opened = self._open[name] = _Opened(record, self._open_space)
        return opened

    def _check_failed(self, record: SpaceRecord) -> None:
        """Raise HttpRejection if the space failed to open a short time ago, with these settings."""
        failed, at = self._failed.get(record.name, (None, 0.0))
        if failed is None:
            return
        if failed == record and monotonic() - at < OPEN_AGAIN_S:
            raise _unavailable(record.name)
        del self._failed[record.name]

    async def _find_record(self, name: str) -> SpaceRecord:
        """The record of a space that is served. Raises HttpRejection."""
        if not self._settings.allows(name):
            raise unknown_space(name)
        if self._ready_record(name) is None:
            with suppress(Unavailable):
                await self._read_directory(LOOK_AGAIN_S)
        if self._records is None:
            raise _unavailable(name)
        record = self._ready_record(name)
        if record is None:
            raise unknown_space(name)
        return record

    def _ready_record(self, name: str) -> SpaceRecord | None:
        """The record of a space, as of the last read of the directory, if it is ready."""
        record = (self._records or {}).get(name)
        return record if record is not None and record.state is SpaceState.READY else None

    def _make_room(self, address: str) -> None:
        """Close the space that was used longest ago. Raises HttpRejection if all are in use, or if
        too many were closed for others."""
        for name, opened in self._open.items():
            if not opened.uses:
                self._replacements.take(address)
                self._retire(name)
                return
        message = "This server serves too many other spaces at the moment. Try again later."
        raise HttpRejection(503, "OVERLOADED", message, {"retry-after": "1"})

    def _retire(self, name: str) -> None:
        opened = self._open.pop(name, None)
        if opened is not None:
            opened.retire()
            self._retired.add(opened.task)
            opened.task.add_done_callback(self._retired.discard)

    async def _poll_directory(self) -> None:
        while True:
            try:
                await self._read_directory(0.0)
            except Unavailable as error:
                log.warning("the directory of spaces cannot be read: %s", error)
            self._close_idle()
            await asyncio.sleep(DIRECTORY_CHECK_S)

    async def _read_directory(self, age_s: float) -> None:
        """Read the directory, unless that was done in the last `age_s`, and close the spaces that
        have changed. Raises Unavailable."""
        async with self._reading:
            if monotonic() - self._read_at < age_s:
                return
            self._records = await self._directory.all()
            self._read_at = monotonic()
        for name, opened in list(self._open.items()):
            if self._records.get(name) != opened.record:
                log.info("the space %s has changed, and is closed", name)
                self._retire(name)

    def _close_idle(self) -> None:
        long_ago = monotonic() - OPEN_AGAIN_S
        self._failed = {name: one for name, one in self._failed.items() if one[1] > long_ago}
        since = monotonic() - self._settings.idle_s
        for name, opened in list(self._open.items()):
            if not opened.uses and opened.used_at < since:
                self._retire(name)


def _unavailable(name: str) -> HttpRejection:
    message = f"The space {name!r} cannot be served at the moment. Try again later."
    return HttpRejection(503, "UNAVAILABLE", message, {"retry-after": "1"})
