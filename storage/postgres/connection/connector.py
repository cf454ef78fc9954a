"""Opens connections to one space, directly or through a pooler such as PgBouncer.

In transaction mode a pooler runs each transaction on any of its server connections. It may reject
or drop start-up parameters, and it may not support prepared statements. Each new connection is
therefore checked: it must reach the space's schema and have a statement timeout. What the pooler
supports is detected once (docs/connections.md).
"""

import asyncio
import logging
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import asyncpg

from graph.errors import Unavailable
from storage.postgres.connection.array_types import DRIVER_TYPES
from storage.postgres.connection.hosts import balanced
from storage.settings import StorageSettings

log = logging.getLogger(__name__)

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

POSTGRESQL = "PostgreSQL"
WRONG_SPACE = (
    "This connection to PostgreSQL leads to another schema than the space's. A pooler must keep"
    " `search_path`, or the role must set it: see docs/connections.md."
)
NO_TIMEOUT = (
    "This connection to PostgreSQL has no statement timeout. A pooler must keep"
    " `statement_timeout`, or the role must set it: see docs/connections.md."
)
NEEDS_DIRECT = (
    "This job needs a direct connection to PostgreSQL, and there is a pooler in between. Set"
    " KITH_DIRECT_DATABASE_URL."
)

_REJECTED = re.compile(r"unsupported startup parameter[s]?: ([\w, .]+)")

_READ_SERVER = """
SELECT pg_backend_pid() AS pid, current_schema() AS schema,
    current_setting('statement_timeout') AS statement_timeout,
    pg_postmaster_start_time()::text AS server
"""

IS_CITUS = "SELECT count(*) > 0 AS is_citus FROM pg_extension WHERE extname = 'citus'"
"""Whether the database has the extension."""

_TEST_STATEMENT = "SELECT 'a prepared statement of kith'"
_IS_PREPARED = "SELECT FROM pg_prepared_statements WHERE name = $1"


class Connector:
    """Opens connections to one space with the same start-up parameters.

    `url` may name several hosts, `target_session_attrs` and `load_balance_hosts`. The password file
    of the settings is read for each connection, because passwords are renewed.
    """

    def __init__(
        self,
        settings: StorageSettings,
        url: str,
        parameters: Mapping[str, str],
        on_citus: Mapping[str, str] | None = None,
    ) -> None:
        """`on_citus`: start-up parameters that are added to `parameters`, or replace them, if the
        database has Citus."""
        self._settings = settings.connections
        self._space = settings.space
        balanced(url)  # raises ValueError now instead of at each connection
        self._url = url
        self._parameters = {"search_path": settings.space, **parameters}
        self._on_citus = on_citus or {}
        self._rejected: set[str] = set()
        self._statement_cache_size = settings.connections.statement_cache_size
        self._detecting = asyncio.Lock()
        self._is_pooled: bool | None = None
        """Whether the connections go through a pooler. None: not known yet."""
        self.is_citus = False
        """Whether the database has Citus. Valid after the first connection."""
        self.server_changed = asyncio.Event()
        """Set when a new connection has reached another server than the one before it, or the same
        one after a restart."""
        self._server: str | None = None
        """When the server that was reached last was started: it identifies the server."""

    async def connect(
        self, timeout_s: float, command_timeout_s: float | None = None, *, is_direct: bool = False
    ) -> Connection:
        """A connection to the space. With `is_direct`, a pooler is an error.

        Raises:
            Unavailable: the connection leads to another schema, has no statement timeout, or leads
                to a pooler although `is_direct`.
            Exception: any error of the driver.
        """
        if self._is_pooled is None:
            async with self._detecting:
                await self._detect(timeout_s)
        if is_direct and self._is_pooled:
            raise Unavailable(POSTGRESQL, NEEDS_DIRECT)
        connection = await self._open(timeout_s, command_timeout_s, self._statement_cache_size)
        try:
            self._check_server(await connection.fetchrow(_READ_SERVER))
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _detect(self, timeout_s: float) -> None:
        """Find out, with a connection of its own, whether there is a pooler, whether it supports
        prepared statements, and whether there is Citus, which needs more start-up parameters."""
        if self._is_pooled is not None:
            return
        connection = await self._open(timeout_s, timeout_s, statement_cache_size=0)
        try:
            row = await connection.fetchrow(_READ_SERVER)
            assert row is not None
            # The process id that a pooler tells its client is not that of the backend.
            is_pooled = row["pid"] != connection.get_server_pid()
            if is_pooled and not await _renames_prepared_statements(connection):
                self._statement_cache_size = 0
                log.warning("The pooler does not support prepared statements, so none are used.")
            self.is_citus = bool(await connection.fetchval(IS_CITUS))
            if self.is_citus:
                self._parameters |= self._on_citus
            self._is_pooled = is_pooled
        finally:
            connection.terminate()

    async def _open(
        self, timeout_s: float, command_timeout_s: float | None, statement_cache_size: int
    ) -> Connection:
        """Connect. If a pooler rejects start-up parameters, connect again without them."""
        while True:
            try:
                connection = await asyncpg.connect(
                    balanced(self._url),
                    password=read_password(self._settings.database_password_file),
                    timeout=timeout_s,
                    command_timeout=command_timeout_s,
                    statement_cache_size=statement_cache_size,
                    server_settings=self._accepted_parameters(),
                )
                connection.get_settings().register_data_types(DRIVER_TYPES)
                return connection
            except asyncpg.ProtocolViolationError as error:
                if not self._exclude_rejected(str(error)):
                    raise
            except Exception as error:
                # The frame of the driver's `_connect` refers to the error: with its traceback, each
                # attempt while the server is down would leave a reference cycle.
                raise error.with_traceback(None) from error.__cause__

    def _accepted_parameters(self) -> dict[str, str]:
        return {
            name: value for name, value in self._parameters.items() if name not in self._rejected
        }

    def _exclude_rejected(self, message: str) -> bool:
        """Stop sending the start-up parameters that a pooler rejects, by its error `message`.
        Returns whether there are any."""
        rejected = _REJECTED.search(message)
        names = set() if rejected is None else set(re.split(r"[, ]+", rejected[1]))
        names &= self._parameters.keys()
        for name in names - self._rejected:
            log.warning("The pooler rejects the start-up parameter %s: set it for the role.", name)
        self._rejected |= names
        return bool(names)

    def _check_server(self, row: asyncpg.Record | None) -> None:
        """Raise Unavailable if the connection has another schema or no statement timeout. Set
        `server_changed` if the server is not the last one. `row`: the result of `_READ_SERVER`."""
        assert row is not None
        # A space that has not been migrated has no schema: its first statement says so.
        if row["schema"] != self._space and (row["schema"] is not None or self._is_pooled):
            raise Unavailable(POSTGRESQL, WRONG_SPACE)
        if row["statement_timeout"] == "0":
            raise Unavailable(POSTGRESQL, NO_TIMEOUT)
        if self._server not in (None, row["server"]):
            self.server_changed.set()
        self._server = row["server"]


def read_password(file: Path | None) -> str | None:
    """The password in `file`, without the line's end. None: the URL's password is used.

    Raises:
        Unavailable: the file cannot be read.
    """
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            POSTGRESQL, "The file with PostgreSQL's password cannot be read."
        ) from error


async def _renames_prepared_statements(connection: Connection) -> bool:
    """Whether the pooler renames prepared statements, so that they work on any server connection.

    PgBouncer does since 1.21, with `max_prepared_statements`. Others pass on the client's name.
    """
    name = f"kith_{uuid.uuid4().hex}"
    async with connection.transaction():  # keeps one server connection
        statement = await connection.prepare(_TEST_STATEMENT, name=name)
        row_of_name = await connection.fetchrow(_IS_PREPARED, name)
        del statement
    return row_of_name is None
