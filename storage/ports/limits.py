"""Limits: how much of them users and callers have used."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from graph.edge import UserId
from graph.rate_limit import Bucket, Grant


class Usage(NamedTuple):
    """One user's usage of their limits, at `now`. Times are in microseconds."""

    following: int
    """Number of users they follow, by a follow or a whisper, or have requested to follow."""
    following_limit: int | None
    """Their own limit, if a service has set one."""
    blocks: int
    paced_until: int
    """The state of the rate limiter: see `graph.pace`."""
    now: int


class Usages(Protocol):
    """How much of their limits users have used. Read from the tables, not from caches."""

    async def get_many(self, users: Sequence[UserId]) -> Mapping[UserId, Usage]:
        """The usage of each of `users`."""
        ...


class Budgets(Protocol):
    """Token buckets of callers, shared by all gateways."""

    async def take(self, caller: str, bucket: Bucket, spent: int, least: int, limit: int) -> Grant:
        """Subtract `spent` from a caller's bucket: the tokens that the caller has used and that no
        call has subtracted yet. Then take between `least` and `limit` tokens, or none if the bucket
        holds fewer than `least`. One round trip."""
        ...
