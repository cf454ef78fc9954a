"""JSON of large responses, written in turns of the event loop.

orjson writes 1 MB in 2 to 4 ms, and nothing else runs meanwhile.
"""

from collections.abc import Generator
from typing import Any

import orjson

from engine import Turns

LARGE_BYTES = 300_000
"""Responses of this estimated length are written in parts."""

PART_BYTES = 300_000
"""The bytes that are written in one turn."""


async def dumps_in_turns(value: Any, turns: Turns) -> bytes:
    """The bytes of `orjson.dumps(value)`, written in parts."""
    parts: list[bytes] = []
    length = PART_BYTES
    for part in json_parts(value):
        if length >= PART_BYTES:
            await turns.wait()
            length = 0
        parts.append(part)
        length += len(part)
    return b"".join(parts)


def json_parts(value: Any) -> Generator[bytes, None, None]:
    """Yield the JSON of a value in parts of at most about PART_BYTES."""
    if type(value) is dict and value:
        before = b"{"
        for key, item in value.items():
            yield before + orjson.dumps(key) + b":"
            yield from json_parts(item)
            before = b","
        yield b"}"
    elif type(value) is list and value:
        yield b"["
        yield from _items(value)
        yield b"]"
    else:
        yield orjson.dumps(value)


def _items(items: list[Any]) -> Generator[bytes, None, None]:
    """Yield the JSON of the items. The length of the last ones decides how many are next."""
    position, count = 0, 1
    while position < len(items):
        if position:
            yield b","
        length = 0
        if count == 1:
            for part in json_parts(items[position]):
                length += len(part)
                yield part
        else:
            part = orjson.dumps(items[position : position + count])[1:-1]
            length = len(part)
            yield part
        position += count
        count = max(1, min(PART_BYTES * count // (length + 1), 8 * count))
