"""The lanes of users: in range, the same in every release, and evenly filled."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import MAX_USER_ID, UserId
from graph.lane import LANES, lane_of


@given(user=st.integers(1, MAX_USER_ID).map(UserId))
def test_a_lane_is_in_range(user: UserId) -> None:
    assert 0 <= lane_of(user) < LANES


def test_a_users_lane_is_the_same_in_every_release() -> None:
    # The rows of the outbox store their lanes. Other lanes would break the order of changes.
    ids = (1, 2, 3, 1000, 2**32, MAX_USER_ID)
    assert [lane_of(UserId(user)) for user in ids] == [4, 7, 6, 1, 1, 2]


def test_ids_at_equal_distances_are_spread_evenly_over_all_lanes() -> None:
    for step in (1, 2, 64, 1 << 12, 1 << 22):  # serial, sharded, with a time
        users_by_lane = Counter(lane_of(UserId(1 + step * i)) for i in range(64 * LANES))
        assert len(users_by_lane) == LANES
        assert max(users_by_lane.values()) < 2 * 64, step
