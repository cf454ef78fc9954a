"""The counts of users as stored and as computed from the rows, while both change."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from graph.edge import UserId

COMPUTATIONS_MAX = 6
"""How often the counts of a user are computed until their differences stay the same."""


class Numbers(NamedTuple):
    """All counts of a user: each column of the two count tables once."""

    following: int
    followers: int
    friends: int
    whispers: int
    whispered: int
    outgoing_requests: int
    incoming_requests: int
    blocks: int
    blocked: int
    close_follows: int
    mutes: int
    absent_followers: int
    absent_whispered: int
    absent_requests: int


class Tally(NamedTuple):
    """A user's counts as stored, and as computed from the rows, which differ."""

    user: UserId
    stored: Numbers
    true: Numbers


async def lasting_differences(
    compute: Callable[[Sequence[UserId]], Awaitable[Sequence[Tally]]], users: Sequence[UserId]
) -> list[Tally]:
    """Compute the counts of `users` in several snapshots, and return the newest tallies, with those
    differences that two computations in a row have found.

    The counts of a busy user change from one to the other, and a wrong one stays as wrong as it is.
    A difference that is another one each time comes from a change between two snapshots.
    """
    found: dict[UserId, Tally] = {}
    before = {tally.user: tally for tally in await compute(users)}
    for _ in range(COMPUTATIONS_MAX - 1):
        if not before:
            break
        now = {tally.user: tally for tally in await compute(list(before))}
        lasting = {user: _with_differences_of(before[user], tally) for user, tally in now.items()}
        found = {user: tally for user, tally in found.items() if user not in before} | lasting
        before = {user: tally for user, tally in now.items() if tally != lasting[user]}
    return [tally for tally in found.values() if tally.stored != tally.true]


def _with_differences_of(before: Tally, now: Tally) -> Tally:
    """The tally `now`, with only those differences that `before` has too."""
    numbers = zip(before.stored, before.true, now.stored, now.true, strict=True)
    true = (
        true if was_stored - was_true == stored - true else stored
        for was_stored, was_true, stored, true in numbers
    )
    return now._replace(true=Numbers(*true))
