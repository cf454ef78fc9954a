"""Batch checks: how many users are related, with as few calls as possible."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TypeVar

from backend.kith import PARALLEL, repeated
from backend.relation_mask import RelationBits
from kith_client import KithClient
from kith_client.input_types import UserPair

PAIRS_MAX = 500
"""Pairs a call of `relationsBetween`."""
MASK_MAX = 1_000
"""Ids a call of `relationMask`."""

Pair = tuple[int, int]
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Relation:
    """The relation of `source` to `target`."""

    source: int
    target: int
    state: str
    requested: bool
    blocking: bool
    followed_at: datetime | None


async def relations(client: KithClient, pairs: Iterable[Pair]) -> AsyncIterator[Relation]:
    """Yield the relation of each pair, in the order of `pairs`.

    Takes any number of pairs: four calls of 500 pairs are under way at once, and no more is held
    in memory.
    """
    for wave in _chunks(_chunks(pairs, PAIRS_MAX), PARALLEL):
        answers = await asyncio.gather(*(_between(client, chunk) for chunk in wave))
        for relation in (relation for answer in answers for relation in answer):
            yield relation


async def screen(client: KithClient, user: int, others: Sequence[int]) -> dict[int, RelationBits]:
    """Return what `user` is to each of `others`: up to 1,000 users in 2,668 characters a call."""
    found: dict[int, RelationBits] = {}
    for chunk in _chunks(others, MASK_MAX):
        answer = await repeated(partial(client.relation_mask, str(user), [*map(str, chunk)]))
        assert answer is not None  # every id is a user's: null comes with an error only
        found |= dict(zip(chunk, answer.relation_mask, strict=True))
    return found


async def _between(client: KithClient, pairs: Sequence[Pair]) -> list[Relation]:
    asked = [UserPair.model_validate({"from": str(a), "to": str(b)}) for a, b in pairs]
    answer = await repeated(lambda: client.relations_between(asked))
    return [
        Relation(
            source=int(one.from_.id),
            target=int(one.to.id),
            state=one.state.value,
            requested=one.requested,
            blocking=one.blocking,
            followed_at=one.followed_at,
        )
        for one in answer or ()
        if one is not None  # null comes with an error only, and the client raises errors
    ]


def _chunks(items: Iterable[Item], limit: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, limit)):
        yield chunk
