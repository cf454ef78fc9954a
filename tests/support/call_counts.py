"""Count the calls in a piece of work: its cost, whatever the machine does meanwhile."""

import sys
from collections.abc import Callable
from types import FrameType


def count_calls(work: Callable[[], object], *, with_c: bool = True) -> int:
    """The number of calls of Python functions, that of `work` included, and of C functions."""
    events = {"call", "c_call"} if with_c else {"call"}
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in events

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
