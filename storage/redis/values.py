"""Small values, one a user, and what is asked of them. Knows no key, and no format."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from graph.edge import UserId
from storage.redis.wire import MANY, Command, Reply, Spelled

V = TypeVar("V")
A = TypeVar("A")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]]


class View(NamedTuple, Generic[V, A]):
    """One way to look at values, a column at a time: what of them is read, and what they answer."""

    of_replies: Callable[[Sequence[bytes]], Sequence[A]]
    of_value: Callable[[V], A]
    parts: Callable[[Sequence[str]], list[Command]] | None = None
    """Reads a part of each key's value, empty if there is none; it may not be enough to answer.
    None: values are read whole."""

    def reads(self, keys: Sequence[str]) -> list[Command]:
        """What to ask the server."""
        return whole(keys) if self.parts is None else self.parts(keys)


@dataclass(frozen=True)  # generic: typing sets an attribute on what it makes
class CachedValues(Generic[V]):
    """One value a user. `ttl_s` may depend on the value."""

    keys: Callable[[Iterable[UserId]], list[str]]
    pack: Callable[[V], bytes]
    ttl_s: Callable[[V], int]


class Question(NamedTuple, Generic[V, A]):
    """What is asked of one cache, once for each of `users`.

    `load` gets what the cache holds: the same for everybody. `read` answers the viewer from the
    tables, where the cache must not, or cannot be reached; `beyond` answers everybody, where all
    that the cache holds cannot tell.
    """

    users: Sequence[UserId]
    values: CachedValues[V]
    view: View[V, A | None]
    load: Load[V]
    read: Load[A]
    beyond: Load[A] | None = None


def columns(
    questions: Sequence[Question[Any, Any]],
    asked: Sequence[Sequence[Command]],
    replies: Sequence[Reply],
) -> list[Sequence[Reply]]:
    """What was replied to the commands of each question, once for each of its users."""
    turns = iter(replies)
    return [
        # Whole values of any keys are one reply.
        next(turns) if commands and q.view.parts is None else list(islice(turns, len(commands)))
        for q, commands in zip(questions, asked, strict=True)
    ]


def answers(users: Sequence[UserId], replies: Sequence[Reply], view: View[V, A]) -> dict[UserId, A]:
    """The answers of those users whose values are there."""
    held = {user: reply for user, reply in zip(users, replies, strict=True) if reply}
    return dict(zip(held, view.of_replies(list(held.values())), strict=True))


def whole(keys: Sequence[str]) -> list[Command]:
    """Reads the values of any keys, which are one reply."""
    return [Spelled((MANY, *keys))] if keys else []
