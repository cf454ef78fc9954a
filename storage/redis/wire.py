"""How commands travel to a Redis-protocol server. Knows nothing of caches."""

from collections.abc import Awaitable, Iterable, Sequence
from itertools import islice
from typing import Any, Protocol

Command = tuple[str | bytes | int, ...]
Reply = Any

MANY = "MGET"
"""Reads the values of any keys, for which its reply is a list. One server answers that for a third
of what as many commands cost; a wire to several would have to ask them one by one.
"""


class WireError(Exception):
    """The server could not be reached, hung up, or answered a command with an error."""


class Misplaced(WireError):
    """A server of a cluster does not have a key (any more): it is there, and others have."""


def singly(commands: Sequence[Command]) -> list[Command]:
    """The same, for servers that must not be asked for several users' values at once."""
    return [
        one
        for command in commands
        for one in ([("GET", key) for key in command[1:]] if command[0] == MANY else [command])
    ]


def rejoined(commands: Sequence[Command], replies: Iterable[Reply]) -> list[Reply]:
    """The replies to `commands`, from those to what `singly` made of them."""
    turns = iter(replies)
    return [
        list(islice(turns, len(command) - 1)) if command[0] == MANY else next(turns)
        for command in commands
    ]


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
