"""The format of a user's pending writes. All numbers are big-endian.

pending writes  1 byte, because an empty value would read as a missing one; then the ids of the
                targets (8 each)
"""

from collections.abc import Collection

from graph.edge import UserId


def pending_value(targets: Collection[UserId]) -> bytes:
    return b"." + b"".join(target.to_bytes(8, "big") for target in targets)


NO_PENDING_WRITES = pending_value(())
"""The value of a user without pending writes, as nearly all are."""


def pending_in(value: bytes) -> Collection[UserId]:
    if len(value) == 1:
        return ()  # nearly always
    return frozenset(
        UserId(int.from_bytes(value[i : i + 8], "big")) for i in range(1, len(value), 8)
    )
