"""A request's headers, gathered in one pass. Knows no header by name."""

from collections.abc import Sequence
from typing import TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]


class Headers(dict[bytes, bytes]):
    """Headers as ASGI gives them: names in lower case, names and values as bytes.

    A dictionary of the first header of each name, for every request looks some of them up.
    `repeats` says that some name came more than once: only then need `every` be asked.
    """

    __slots__ = ("_all", "repeats")

    def __init__(self, raw: RawHeaders) -> None:
        self._all = raw
        # Backwards: of a header that came twice, the first one is found.
        self.update(reversed(raw))
        self.repeats = len(self) != len(raw)

    def every(self, name: bytes) -> list[bytes]:
        """The values of all headers of this name."""
        if name not in self:
            return []
        if not self.repeats:
            return [self[name]]
        return [value for one, value in self._all if one == name]


NO_HEADERS = Headers(())
