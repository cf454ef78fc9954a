"""The format of own writes. All numbers are big-endian.

own writes      1 byte, because an empty value would read as a missing one; then user ids (8 each)
"""

from collections.abc import Collection

from graph.edge import UserId


def pending_value(ids: Collection[UserId]) -> bytes:
    return b"." + b"".join(i.to_bytes(8, "big") for i in ids)


NO_PENDING_WRITES = pending_value(())
"""The value of a user without pending writes, as nearly all are."""


def pending_in(value: bytes) -> Collection[UserId]:
    if len(value) == 1:
        return ()  # nearly always
    return frozenset(
        UserId(int.from_bytes(value[i : i + 8], "big")) for i in range(1, len(value), 8)
    )
