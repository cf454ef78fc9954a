"""Stored and computed counts, in several snapshots: only lasting differences are reported."""

from collections.abc import Sequence

import pytest

from graph.edge import UserId
from storage.postgres.verification.tallies import (
    COMPUTATIONS_MAX,
    AllCounts,
    Tally,
    lasting_differences,
)

RIGHT = AllCounts(*range(len(AllCounts._fields)))
USER, OTHER = UserId(1), UserId(2)


def tally(
    stored: int, computed: int, friends: tuple[int, int] = (0, 0), user: UserId = USER
) -> Tally:
    """A tally with these numbers of followers, and with (stored, computed) numbers of friends."""
    return Tally(
        user,
        RIGHT._replace(followers=stored, friends=friends[0]),
        RIGHT._replace(followers=computed, friends=friends[1]),
    )


async def differences_of(*computed: Sequence[Tally]) -> list[Tally]:
    """The lasting differences if the computations have these results, the last one repeatedly."""
    results = list(computed)
    asked: list[list[UserId]] = []

    async def compute(users: Sequence[UserId]) -> Sequence[Tally]:
        asked.append(list(users))
        result = results.pop(0) if len(results) > 1 else results[0]
        return [one for one in result if one.user in users]

    tallies = await lasting_differences(compute, [USER, OTHER])
    assert all(asked)
    assert len(asked) <= COMPUTATIONS_MAX
    return tallies


async def test_a_wrong_count_is_found_while_the_user_gains_followers() -> None:
    """Although the stored counts of the two computations differ."""
    assert await differences_of([tally(56, 9)], [tally(58, 11)]) == [tally(58, 11)]


async def test_a_wrong_count_is_found_while_the_number_of_friends_changes() -> None:
    changing = [tally(56, 9, (number, 0)) for number in range(1, 99)]
    (one,) = await differences_of(*([each] for each in changing))
    assert (one.stored.followers, one.computed.followers) == (56, 9)
    assert one.stored.friends == one.computed.friends


async def test_a_difference_that_changes_each_time_is_not_reported() -> None:
    assert await differences_of(*([tally(number, 0)] for number in range(1, 99))) == []


@pytest.mark.parametrize("computations", range(1, COMPUTATIONS_MAX))
async def test_a_difference_that_disappears_is_not_reported(computations: int) -> None:
    changing = [[tally(number, 0)] for number in range(1, computations + 1)]
    assert await differences_of(*changing, []) == []


async def test_a_difference_that_stops_changing_is_found() -> None:
    assert await differences_of([tally(5, 1)], [tally(6, 1)], [tally(9, 4)]) == [tally(9, 4)]


async def test_the_differences_of_each_user_are_compared_separately() -> None:
    first = [tally(5, 1), tally(7, 7, (2, 1), OTHER)]
    assert await differences_of(first, [tally(4, 0)]) == [tally(4, 0)]
