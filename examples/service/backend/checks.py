"""Checks the relations of many users with as few calls as possible."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TypeVar

from backend.kith import PARALLEL, with_retries
from backend.relation_mask import RelationBits
from kith_client import KithClient
from kith_client.input_types import UserPair

PAIRS_MAX = 500
"""The maximum number of pairs in one call of `relationsBetween`."""
MASK_MAX = 1_000
"""The maximum number of ids in one call of `relationMask`."""

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

    Takes any number of pairs: four calls of 500 pairs run at once, and only their pairs and
    answers are in memory.
    """
    for batch in _chunks(_chunks(pairs, PAIRS_MAX), PARALLEL):
        answers = await asyncio.gather(*(_relations_between(client, chunk) for chunk in batch))
        for relation in (relation for answer in answers for relation in answer):
            yield relation


async def relation_masks(
    client: KithClient, user: int, others: Sequence[int]
) -> dict[int, RelationBits]:
    """Return the relation of `user` to each of `others`. A call returns up to 1,000 relations in
    2,668 characters."""
    found: dict[int, RelationBits] = {}
    for chunk in _chunks(others, MASK_MAX):
        answer = await with_retries(partial(client.relation_mask, str(user), [*map(str, chunk)]))
        assert answer is not None  # every id is a user's: null comes with an error only
        found |= dict(zip(chunk, answer.relation_mask, strict=True))
    return found


async def _relations_between(client: KithClient, pairs: Sequence[Pair]) -> list[Relation]:
    asked = [UserPair.model_validate({"from": str(a), "to": str(b)}) for a, b in pairs]
    answer = await with_retries(lambda: client.relations_between(asked))
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
