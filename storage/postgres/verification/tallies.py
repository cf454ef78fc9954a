"""The counts of users, as stored and as computed from the rows, while writes change both."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from graph.edge import UserId

COMPUTATIONS_MAX = 6
"""How often the counts of a user are computed at most, until their differences stay the same."""


class AllCounts(NamedTuple):
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
    stored: AllCounts
    computed: AllCounts


async def lasting_differences(
    compute: Callable[[Sequence[UserId]], Awaitable[Sequence[Tally]]], users: Sequence[UserId]
) -> list[Tally]:
    """Compute the counts of `users` several times, and return the newest tallies with those
    differences that two computations in a row have found.

    The counts of a busy user change between computations, but a wrong count keeps its difference. A
    difference with another value each time comes from a change between two snapshots.
    """
    newest: dict[UserId, Tally] = {}
    previous = {tally.user: tally for tally in await compute(users)}
    for _ in range(COMPUTATIONS_MAX - 1):
        if not previous:
            break
        current = {tally.user: tally for tally in await compute(list(previous))}
        with_lasting = {
            user: _with_differences_of(previous[user], tally) for user, tally in current.items()
        }
        newest = {
            user: tally for user, tally in newest.items() if user not in previous
        } | with_lasting
        previous = {user: tally for user, tally in current.items() if tally != with_lasting[user]}
    return [tally for tally in newest.values() if tally.stored != tally.computed]


def _with_differences_of(previous: Tally, current: Tally) -> Tally:
    """The tally `current`, with only those differences that `previous` has too."""
    numbers = zip(previous.stored, previous.computed, current.stored, current.computed, strict=True)
    computed = (
        computed if was_stored - was_computed == stored - computed else stored
        for was_stored, was_computed, stored, computed in numbers
    )
    return current._replace(computed=AllCounts(*computed))
