"""`/export/{list}/{user}`: a whole list of one user, for services.

GET /export/followers/17?format=ndjson&fields=id,since,cursor&after=CURSOR
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from prometheus_client import Counter

from engine import Turns
from gateway.services.export_lines import FIELDS, MEDIA_TYPES, ExportFormat, ExportLines
from gateway.services.streams import (
    Chunks,
    Stream,
    StreamRequest,
    one_of,
    reject_unknown_parameters,
)
from graph.edge import UserId, user_id_of
from graph.errors import BadInput
from graph.exported_list import ExportedList, read_cursor
from resolvers.exports import ExportedEntries, end_of_changes, exported_entries

CHANGES_HEADER = b"kith-changes-cursor"
"""The response header with the cursor of the change feed at the beginning of the export."""

SLICE = 50
"""The entries that are written in one turn of the event loop: 0.1 ms."""

_exported = Counter("kith_exported_entries", "Entries of lists that were exported.", ["list"])


@dataclass(frozen=True, slots=True)
class Exports:
    """Begins exports. Their lines are written in `turns` of the event loop."""

    turns: Turns

    async def begin(self, request: StreamRequest) -> Stream:
        """Check a request, and begin its export.

        Raises:
            BadInput: a parameter is invalid.
            Unavailable: Redis cannot be reached.
        """
        reject_unknown_parameters(request.query, ("format", "fields", "after", "notify"))
        exported = ExportedList(one_of("list", request.path["list"], "", list(ExportedList)))
        user = user_id_of(request.path["user"])
        if user is None:
            raise BadInput("user", "must be a user's id.")
        chosen = one_of(
            "format", request.query.get("format"), ExportFormat.NDJSON, list(ExportFormat)
        )
        file_format = ExportFormat(chosen)
        fields = request.query.get("fields", ",".join(FIELDS))
        lines = ExportLines(file_format, fields.split(","))
        notified = (
            one_of("notify", request.query.get("notify"), "false", ["false", "true"]) == "true"
        )
        if notified and exported is not ExportedList.FOLLOWERS:
            raise BadInput("notify", "is only for followers.")
        after = request.query.get("after")
        cursor = None if after is None else read_cursor("after", after, exported)
        changes_cursor = await end_of_changes(request.scope)  # before anything is read
        entries = exported_entries(request.scope, exported, UserId(user), cursor, notified=notified)
        chunks = self._chunks(entries, lines, exported)
        return Stream(MEDIA_TYPES[file_format], chunks, [(CHANGES_HEADER, changes_cursor.encode())])

    async def _chunks(
        self,
        found: AsyncGenerator[ExportedEntries, None],
        lines: ExportLines,
        exported: ExportedList,
    ) -> Chunks:
        if lines.head:
            yield lines.head
        async for part in found:
            for start in range(0, len(part.entries), SLICE):
                await self.turns.wait()
                batch = part.entries[start : start + SLICE]
                yield lines.formatted(part.kind, batch)
                _exported.labels(exported).inc(len(batch))
