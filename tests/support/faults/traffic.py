"""Concurrent writers and readers, which check every response."""

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any
from uuid import uuid4

from tests.support.faults.answers import (
    FOLLOW,
    LISTS,
    PROFILES,
    RELATIONS,
    UNFOLLOW,
    wrong_lists,
    wrong_profiles,
    wrong_relations,
)
from tests.support.faults.client import Answer, Client
from tests.support.faults.histories import UserPair
from tests.support.faults.world import Read, World

BUSY = frozenset({"OVERLOADED", "DEADLINE_EXCEEDED", "TIMEOUT", "BACKLOG_FULL"})
"""Codes that a client may always get: the machine may have other work."""
TEMPORARY = frozenset({"UNAVAILABLE", "STALE", "DISCONNECTED"})
"""Codes that a client may get while a part fails. Any other is a violation."""
RECOVERY_S = 1.0
"""After a failure of Redis, a gateway does not call it for a moment. Writes may be delayed for
this time after the outage."""
REPEAT_S, REPEAT_S_MAX = 0.05, 1.0
"""The pause before the first repeat of a write. It doubles up to the maximum."""
PAUSE_S = 0.005
"""The pause of each writer and reader after a request."""
VIOLATIONS_MAX = 100
PROFILES_READ = 5


@dataclass
class Outage:
    """When a part was failing: only then may requests fail."""

    began: float = inf
    ended: float = -inf

    def overlaps(self, began: float, ended: float) -> bool:
        return began <= self.ended and ended >= self.began


@dataclass
class Tally:
    """The counts and violations so far."""

    answers: Counter[str] = field(default_factory=Counter)
    """Requests by kind and code: "read OK", "write UNAVAILABLE"."""
    violations: list[str] = field(default_factory=list)

    def violation(self, text: str) -> None:
        self.answers["violation"] += 1
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(text)

    @property
    def requests(self) -> int:
        return self.answers.total() - self.answers["violation"] - self.answers["write delayed"]


@dataclass
class Traffic:
    """Requests to all gateways, and the model of the follows that they write."""

    clients: Sequence[Client]
    world: World
    outage: Outage = field(default_factory=Outage)
    tally: Tally = field(default_factory=Tally)
    delayed_s: float = inf
    """How long a writer may miss their delayed write. By default until all changes are applied."""
    unresolved: set[UserPair] = field(default_factory=set)
    """Follows whose last write had no idempotency key, and may have happened or still happen."""
    _unresolved_before: set[UserPair] = field(default_factory=set)

    async def read(
        self,
        viewer: int | None,
        owner: int,
        client: Client | None = None,
        *,
        token_change: UserPair | None = None,
        token: str = "",
    ) -> bool:
        """Read all lists of a user, and check the response. `token` is that of the last change of
        the pair `token_change`. Returns whether there was a response without errors."""
        read, answer = await self._ask(
            viewer, LISTS, {"id": str(owner)}, client, token_change, token
        )
        if answer.code is None:
            self._report(read, wrong_lists(read, owner, answer.data))
        return answer.code is None

    async def read_profiles(self, viewer: int | None, users: list[int]) -> None:
        read, answer = await self._ask(viewer, PROFILES, {"ids": list(map(str, users))})
        if answer.code is None:
            self._report(read, wrong_profiles(read, users, answer.data))

    async def check_relations(self, viewer: int, users: list[int]) -> None:
        """Read the viewer's relations to other users, and check them."""
        read, answer = await self._ask(viewer, RELATIONS, {"ids": list(map(str, users))})
        if answer.code is None:
            self._report(read, wrong_relations(read, users, answer.data))

    async def write(self, pair: UserPair, *, keyed: bool) -> None:
        """Follow, or unfollow if the last write was a follow. Repeat it until it is acknowledged,
        then read it as its writer.

        Without an idempotency key, a write whose outcome is unknown is not repeated: it may still
        happen.
        """
        history = self.world.histories[pair]
        previous, version = history.last, history.write(not history.last.present, time.monotonic())
        expected = ("FOLLOWED" if version.present else "UNFOLLOWED",)
        given = {"userId": str(pair.target), **({"idempotencyKey": uuid4().hex} if keyed else {})}
        name, document = ("followUser", FOLLOW) if version.present else ("unfollowUser", UNFOLLOW)
        pause = REPEAT_S
        while True:
            began = time.monotonic()
            client = random.choice(self.clients)
            answer = await client.ask(document, pair.source, {name: given})
            ended = time.monotonic()
            self._count("write", answer, began, ended)
            if answer.code is None:
                break
            if not keyed:
                self.unresolved.add(pair)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, REPEAT_S_MAX)
        payload = answer.data["change"]
        if (
            payload["outcome"] not in expected
            or payload["relation"]["following"] != version.present
        ):
            self.tally.violation(f"{pair} was {previous.present}; {name} answered {payload}")
        is_delayed = payload["consistency"] == "DELAYED"
        if is_delayed and not self.outage.overlaps(began - RECOVERY_S, ended):
            self.tally.violation(f"{name} of {pair} is delayed, but nothing fails")
        self.tally.answers["write delayed"] += is_delayed
        must_be_visible_at = ended + self.delayed_s if is_delayed else ended
        version.acknowledged = min(version.acknowledged, must_be_visible_at)
        token = payload["consistencyToken"] if is_delayed else ""
        token_change = pair if is_delayed else None
        await self.read(pair.source, random.choice(pair), token_change=token_change, token=token)

    def release(self) -> None:
        """Allow writes again to the follows that were unresolved at the previous call already."""
        self.unresolved -= self._unresolved_before
        self._unresolved_before = set(self.unresolved)

    async def _ask(
        self,
        viewer: int | None,
        document: str,
        variables: Any,
        client: Client | None = None,
        token_change: UserPair | None = None,
        token: str = "",
    ) -> tuple[Read, Answer]:
        client = client or random.choice(self.clients)
        began = time.monotonic()
        answer = await client.ask(document, viewer, variables, token)
        ended = time.monotonic()
        self._count("read", answer, began, ended)
        return Read(self.world, viewer, began, ended, token_change), answer

    def _count(self, kind: str, answer: Answer, began: float, ended: float) -> None:
        """Count a response, and record a violation if it has an error that is not allowed now."""
        self.tally.answers[f"{kind} {answer.code or 'OK'}"] += 1
        if answer.code is None or answer.code in BUSY:
            return
        if answer.code not in TEMPORARY or not self.outage.overlaps(began, ended):
            self.tally.violation(f"a {kind} failed with {answer.code}: {answer.message}")

    def _report(self, read: Read, wrong: Iterator[str]) -> None:
        for text in wrong:
            self.tally.violation(f"viewer {read.viewer}: {text}")


@asynccontextmanager
async def flowing(traffic: Traffic, writers: int = 4, readers: int = 4) -> AsyncIterator[None]:
    """Run writers, each with its own follows, and readers during the block."""
    ending = asyncio.Event()
    shares = [
        itertools.islice(traffic.world.histories, number, None, writers)
        for number in range(writers)
    ]
    async with asyncio.TaskGroup() as group:
        for share in shares:
            group.create_task(_write_on(traffic, list(share), ending))
        for _ in range(readers):
            group.create_task(_read_on(traffic, ending))
        try:
            yield
        finally:
            ending.set()


async def _write_on(traffic: Traffic, pairs: list[UserPair], ending: asyncio.Event) -> None:
    while not ending.is_set():
        pair = random.choice(pairs)
        if pair not in traffic.unresolved:
            await traffic.write(pair, keyed=random.random() < 0.75)
        await asyncio.sleep(PAUSE_S)


async def _read_on(traffic: Traffic, ending: asyncio.Event) -> None:
    users = traffic.world.users
    while not ending.is_set():
        viewer = random.choice([None, *users])
        if random.random() < 0.5:
            await traffic.read(viewer, random.choice(users))
        else:
            await traffic.read_profiles(viewer, random.sample(users, PROFILES_READ))
        await asyncio.sleep(PAUSE_S)
