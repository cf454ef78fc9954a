"""The text of a document, with an index of its lines."""

import re
from array import array
from bisect import bisect_left

from graphql import Source, SourceLocation

_LINE_BREAK = re.compile(r"\r\n|[\n\r]")


class IndexedSource(Source):
    """A source that finds its line breaks once.

    graphql-core's own class reads the text up to the position again for each location.
    """

    __slots__ = ("_line_breaks",)

    def __init__(self, body: str) -> None:
        super().__init__(body)
        self._line_breaks: array[int] | None = None

    def get_location(self, position: int) -> SourceLocation:
        """The line and column of a position, both counted from 1."""
        breaks = self._line_breaks
        if breaks is None:
            starts = (match.start() for match in _LINE_BREAK.finditer(self.body))
            breaks = self._line_breaks = array("I", starts)
        count = bisect_left(breaks, position)
        if not count:
            return SourceLocation(1, position + 1)
        last = breaks[count - 1]
        line_start = last + (2 if self.body.startswith("\r\n", last) else 1)
        return SourceLocation(count + 1, position + 1 - line_start)
