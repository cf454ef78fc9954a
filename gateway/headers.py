"""A request's headers, gathered in one pass. Knows no header by name."""

from collections.abc import Sequence
from typing import TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]


class Headers:
    """Headers as ASGI gives them: names in lower case, names and values as bytes."""

    __slots__ = ("_all", "_first")

    def __init__(self, raw: RawHeaders) -> None:
        self._all = raw
        # Backwards: of a header that came twice, the first one is found.
        self._first = dict(reversed(raw))

    def get(self, name: bytes) -> bytes | None:
        """The value of the first header of this name."""
        return self._first.get(name)

    def every(self, name: bytes) -> list[bytes]:
        """The values of all headers of this name."""
        if name not in self._first:
            return []
        return [value for one, value in self._all if one == name]

    def count(self, name: bytes) -> int:
        """How often it came."""
        return sum(name == one for one, _ in self._all)


NO_HEADERS = Headers(())
