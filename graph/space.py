"""The space of a request. Its tokens are invalid in other spaces, and its log entries name it.

Cursors, consistency tokens and undo tokens are bound to their space by its tag: a checksum covers
it, or the token is combined with it by XOR. The tag of the default space is 0, so that its tokens
are the same whether a gateway serves one space or many.
"""

from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

PUBLIC_SPACE = "public"
"""The name of the default space."""

# A context variable, because a parameter would pass through every row that has a cursor.
_space: ContextVar[str] = ContextVar("space", default=PUBLIC_SPACE)


def current_space() -> str:
    """The space of the running request."""
    return _space.get()


def current_tag() -> int:
    """The number of 32 bits to which the tokens of the running request's space are bound."""
    return tag_of(_space.get())


@lru_cache
def tag_of(space: str) -> int:
    """The number of 32 bits to which the tokens of a space are bound."""
    return 0 if space == PUBLIC_SPACE else crc32(space.encode())


def set_space(space: str) -> None:
    """Run the rest of this task, and the tasks that it starts, in this space."""
    _space.set(space)


@contextmanager
def running_in(space: str) -> Iterator[None]:
    """Run the block in this space."""
    token = _space.set(space)
    try:
        yield
    finally:
        _space.reset(token)
