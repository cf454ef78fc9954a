"""HTTP headers of a request, read in one pass."""

from collections.abc import Sequence
from typing import TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
Client: TypeAlias = tuple[str, int] | None


class Headers(dict[bytes, bytes]):
    """Headers as ASGI passes them: names in lower case, names and values as bytes.

    A dictionary of the first header of each name, for fast lookups. `repeats` is set if some name
    occurs more than once: only then `every` can return several values.
    """

    __slots__ = ("_all", "client", "repeats")

    def __init__(self, raw: RawHeaders, client: Client = None) -> None:
        self._all = raw
        self.client = client
        """The sender: the address and port of the connection's other end."""
        # Reversed, so that the first of repeated headers wins.
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
