"""What a process still refers to: parsed JSON, and texts with a marker."""

import gc
from typing import Any

LONG_TEXT = 1_000
"""Shorter texts are those of the test itself."""


def retained_lists(marker: str) -> int:
    """The number of lists that contain only this text."""
    return sum(type(one) is list and one == [marker] for one in gc.get_objects())


def retained_pages(user: str) -> int:
    """The number of lists that contain only an object with this id, as parts of responses do."""
    return sum(type(one) is list and one == [{"id": user}] for one in gc.get_objects())


def retained_texts(marker: str) -> int:
    """The number of long strings and bytes that contain this text."""
    found: dict[int, Any] = {}
    for container in gc.get_objects():
        for one in gc.get_referents(container):
            if type(one) in (str, bytes, bytearray) and len(one) >= LONG_TEXT:
                found[id(one)] = one
    as_bytes = marker.encode()
    return sum(marker in one if isinstance(one, str) else as_bytes in one for one in found.values())
