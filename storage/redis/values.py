"""The types of small cached values, one for each user, and of the questions to them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from graph.edge import UserId
from storage.redis.wire import MANY, Command, Preformatted, Reply

V = TypeVar("V")
A = TypeVar("A")

Load = Callable[[Sequence[UserId]], Awaitable[Mapping[UserId, V]]]


class View(NamedTuple, Generic[V, A]):
    """One way to decode values: which part of them to read, and how to turn a column of them into
    answers."""

    of_replies: Callable[[Sequence[bytes]], Sequence[A]]
    of_value: Callable[[V], A]
    parts: Callable[[Sequence[str]], list[Command]] | None = None
    """Makes commands that read part of each key's value, empty if there is none. A part may be too
    short for an answer. None: whole values are read."""

    def reads(self, keys: Sequence[str]) -> list[Command]:
        """The commands that read these keys."""
        return whole(keys) if self.parts is None else self.parts(keys)


@dataclass(frozen=True)  # no slots: typing sets an attribute on generic instances
class CachedValues(Generic[V]):
    """A cache with one value for each user. `ttl_s` may depend on the value."""

    keys: Callable[[Iterable[UserId]], list[str]]
    pack: Callable[[V], bytes]
    ttl_s: Callable[[V], int]


class Question(NamedTuple, Generic[V, A]):
    """A question to one cache, asked for each of `users`.

    `load` reads the values to cache from the tables, the same for every viewer. `read` reads the
    viewer's answers from the tables, when the cache is stale for the viewer or unavailable.
    `beyond` reads everybody's answers, when a cached value is too short for one.
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
    """The replies of each question, one for each of its users."""
    turns = iter(replies)
    return [
        # MGET of whole values gives one reply, a list.
        next(turns) if commands and q.view.parts is None else list(islice(turns, len(commands)))
        for q, commands in zip(questions, asked, strict=True)
    ]


def answers(users: Sequence[UserId], replies: Sequence[Reply], view: View[V, A]) -> dict[UserId, A]:
    """The answers of those users whose values are cached."""
    held = {user: reply for user, reply in zip(users, replies, strict=True) if reply}
    return dict(zip(held, view.of_replies(list(held.values())), strict=True))


def whole(keys: Sequence[str]) -> list[Command]:
    """A command that reads these keys' values in one reply."""
    return [Preformatted((MANY, *keys))] if keys else []
