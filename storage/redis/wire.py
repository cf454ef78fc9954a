"""The protocol of sending commands to a Redis-protocol server."""

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

Command = tuple[str | bytes | int, ...]
Reply = Any

UNLINK = "UNLINK"
"""Deletes any keys; its reply is their number."""

MGET = "MGET"
"""Reads the values of any keys; its reply is a list. On one server it costs a third
of the GETs of the same keys. A client of several servers splits it into GETs."""


class _Lengths(dict[int, str]):
    """What the protocol needs before an argument, by the length of the argument."""

    def __missing__(self, length: int) -> str:
        separator = self[length] = f"\r\n${length}\r\n"
        return separator


_LENGTHS = _Lengths()


LONG = 64
"""The number of arguments from which `Preformatted.packed` is faster than hiredis."""


class Preformatted(tuple[str, ...]):
    """A preformatted command: all its arguments are ASCII text."""

    __slots__ = ()

    def packed(self) -> bytes:
        """The command in RESP: the number of arguments, and the length of each before it.

        For `LONG` or more arguments this takes two thirds of the time of `hiredis.pack_command`.
        """
        pieces = [""] * (2 * len(self))
        pieces[::2] = map(_LENGTHS.__getitem__, map(len, self))
        pieces[1::2] = self
        return f"*{len(self)}{''.join(pieces)}\r\n".encode()


class _Unavailable:
    __slots__ = ()

    def __bool__(self) -> bool:
        return False


UNAVAILABLE: Reply = _Unavailable()
"""The reply of a server that is unavailable. False, like a missing value."""


class WireError(Exception):
    """The server cannot be reached, closed the connection, or replied with an error."""


class Redirected(WireError):
    """A cluster server rejected a command: by MOVED or ASK, because the server at `at` has the key,
    or by TRYAGAIN (`at` is None), because the keys are moving to another server.

    After ASK (`is_ask`), that server needs `ASKING` before the command.
    """

    def __init__(self, text: str, at: str | None = None, *, is_ask: bool = False) -> None:
        super().__init__(text)
        self.at = at
        self.is_ask = is_ask


class ScriptUnknown(WireError):
    """The server has lost a script that was loaded when the connection was made."""


class ReadOnly(WireError):
    """The server has become a replica, so it rejects changes."""


def rejection(text: str) -> WireError:
    """The exception for a server's error message."""
    match text.split(" "):
        case ["MOVED" | "ASK" as kind, _, address]:
            return Redirected(text, address, is_ask=kind == "ASK")
        case ["TRYAGAIN", *_]:
            return Redirected(text)
        case ["NOSCRIPT", *_]:
            return ScriptUnknown(text)
        case ["READONLY", *_]:
            return ReadOnly(text)
    return WireError(text)


def split_by_key(commands: Sequence[Command]) -> list[Command]:
    """The commands, with MGET and UNLINK split into commands for single keys, because the keys may
    be on several servers."""
    return [single for command in commands for single in _single(command)]


def _single(command: Command) -> Sequence[Command]:
    if command[0] == MGET:
        return [("GET", key) for key in command[1:]]
    if command[0] == UNLINK:
        return [(UNLINK, key) for key in command[1:]]
    return [command]


def join_replies(commands: Sequence[Command], replies: Iterable[Reply]) -> list[Reply]:
    """The replies to `commands`, from the replies to their `split_by_key` form."""
    remaining_replies = iter(replies)
    return [_join_reply(command, remaining_replies) for command in commands]


def _join_reply(command: Command, remaining_replies: Iterator[Reply]) -> Reply:
    if command[0] == MGET:
        return list(islice(remaining_replies, len(command) - 1))
    if command[0] == UNLINK:
        counts = list(islice(remaining_replies, len(command) - 1))
        return UNAVAILABLE if UNAVAILABLE in counts else sum(counts)
    return next(remaining_replies)


class Wire(Protocol):
    """A connection. Replies are as the server sends them: bytes, integers, lists, None."""

    @property
    def round_trips(self) -> int:
        """Number of writes to the server. The cost tests read it."""
        ...

    def send(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """Run the commands (at least one) in order and in one round trip. Returns the replies in
        order.

        Raises, at once or when awaited:
            WireError: the server cannot be reached, is too slow, or has rejected a command.
                Others may have run.
        """
        ...

    async def close(self) -> None:
        """Close the connection. A later `send` connects again."""
        ...
