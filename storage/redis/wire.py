"""How commands travel to a Redis-protocol server. Knows nothing of caches."""

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

Command = tuple[str | bytes | int, ...]
Reply = Any

FORGET = "UNLINK"
"""Deletes any keys; its reply is how many there were."""

MANY = "MGET"
"""Reads the values of any keys, for which its reply is a list. One server answers that for a third
of what as many commands cost; a wire to several would have to ask them one by one.
"""


class _Lengths(dict[int, str]):
    """What stands between a text and one of this length."""

    def __missing__(self, length: int) -> str:
        spelled = self[length] = f"\r\n${length}\r\n"
        return spelled


_LENGTHS = _Lengths()


LONG = 64


class Spelled(tuple[str, ...]):
    """A command of nothing but ASCII text."""

    __slots__ = ()

    def packed(self) -> bytes:
        """As the protocol has it: how many texts these are, and the length of each before it.

        Of `LONG` and more texts, this takes two thirds of the time that hiredis takes.
        """
        pieces = [""] * (2 * len(self))
        pieces[::2] = map(_LENGTHS.__getitem__, map(len, self))
        pieces[1::2] = self
        return f"*{len(self)}{''.join(pieces)}\r\n".encode()


class _Away:
    __slots__ = ()

    def __bool__(self) -> bool:
        return False


AWAY: Reply = _Away()
"""Stands where a reply would, if its server were there: no value, like None."""


class WireError(Exception):
    """The server could not be reached, hung up, or answered a command with an error."""


class Misplaced(WireError):
    """A server of a cluster does not have a key, or not any more; `at` is the address of who has.

    Where that slot `is_moving`, who has it wants `ASKING` to be said first.
    """

    def __init__(self, text: str, at: str | None = None, *, is_moving: bool = False) -> None:
        super().__init__(text)
        self.at = at
        self.is_moving = is_moving


class ScriptUnknown(WireError):
    """The server has forgotten a script that it was told when the connection was made."""


def refusal(text: str) -> WireError:
    """What a server's error means."""
    match text.split(" "):
        case ["MOVED" | "ASK" as kind, _, address]:
            return Misplaced(text, address, is_moving=kind == "ASK")
        case ["TRYAGAIN", *_]:
            return Misplaced(text)
        case ["NOSCRIPT", *_]:
            return ScriptUnknown(text)
    return WireError(text)


def singly(commands: Sequence[Command]) -> list[Command]:
    """The same by one key each where keys may lie on several servers, or be on their way."""
    return [one for command in commands for one in _single(command)]


def _single(command: Command) -> Sequence[Command]:
    if command[0] == MANY:
        return [("GET", key) for key in command[1:]]
    if command[0] == FORGET:
        return [(FORGET, key) for key in command[1:]]
    return [command]


def rejoined(commands: Sequence[Command], replies: Iterable[Reply]) -> list[Reply]:
    """The replies to `commands`, from those to what `singly` made of them."""
    turns = iter(replies)
    return [_rejoined(command, turns) for command in commands]


def _rejoined(command: Command, turns: Iterator[Reply]) -> Reply:
    if command[0] == MANY:
        return list(islice(turns, len(command) - 1))
    if command[0] == FORGET:
        counts = list(islice(turns, len(command) - 1))
        return AWAY if AWAY in counts else sum(counts)
    return next(turns)


class Wire(Protocol):
    """A way to send. Replies come as the server gives them: bytes, integers, lists, None."""

    round_trips: int
    """How often something was sent: what the tests of costs count."""

    def send(self, commands: Sequence[Command]) -> Awaitable[list[Reply]]:
        """Runs the commands, of which there is one at least, in their order and in one round trip;
        each reply in its place.

        Raises, at once or when awaited:
            WireError: the server is away, too slow, or refused one of the commands.
        """
        ...

    async def close(self) -> None:
        """Hangs up. A later `send` connects anew."""
        ...
