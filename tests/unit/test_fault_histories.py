"""The checker of the fault tests: which versions of a follow a read may show."""

from math import inf

from tests.support.faults.answers import wrong_profiles
from tests.support.faults.histories import History, PossibleStates, UserPair
from tests.support.faults.world import Read, World

FOLLOW = UserPair(1, 2)


def history(*writes: tuple[bool, float, float]) -> History:
    """Writes as (present, began, acknowledged)."""
    made = History()
    for present, began, acknowledged in writes:
        made.write(present, began).acknowledged = acknowledged
    return made


def test_a_writer_may_see_a_write_from_its_start_and_must_see_it_once_acknowledged() -> None:
    followed = history((True, 10, 20))
    assert followed.fresh(5, 9) == PossibleStates.ABSENT
    assert followed.fresh(5, 11) == PossibleStates.BOTH
    assert followed.fresh(19, 30) == PossibleStates.BOTH
    assert followed.fresh(20, 30) == PossibleStates.PRESENT


def test_other_users_may_miss_a_write_until_the_lag_has_passed() -> None:
    followed = history((True, 10, 20))
    assert followed.lagging(100, 101, inf) == PossibleStates.BOTH
    assert followed.lagging(24, 25, lag_s=5) == PossibleStates.BOTH
    assert followed.lagging(26, 27, lag_s=5) == PossibleStates.PRESENT


def test_a_write_without_a_response_is_uncertain_until_its_writer_sees_it() -> None:
    followed = history((True, 10, inf))
    assert followed.fresh(50, 51) == PossibleStates.BOTH
    followed.record_shown(50, 51, present=False)
    assert followed.fresh(60, 61) == PossibleStates.BOTH
    followed.record_shown(60, 61, present=True)
    assert followed.fresh(62, 63) == PossibleStates.PRESENT


def test_a_state_that_two_uncertain_writes_explain_proves_neither() -> None:
    twice = history((True, 10, inf), (False, 20, inf), (True, 30, inf))
    twice.record_shown(40, 41, present=True)
    assert twice.fresh(50, 51) == PossibleStates.BOTH


def test_a_wrong_count_and_a_wrong_relation_are_found() -> None:
    world = World([FOLLOW, FOLLOW.reversed])
    world.histories[FOLLOW].write(True, 10).acknowledged = 20
    relation = {"state": "NONE", "following": False, "followedBy": False}
    shown = {"id": "2", "followingCount": 0, "followerCount": 0, "friendCount": 0}
    data = {"users": [{**shown, "viewerRelation": relation}]}
    assert list(wrong_profiles(Read(world, 1, 5, 9), [2], data)) == []
    assert list(wrong_profiles(Read(world, 1, 21, 22), [2], data)) == [
        "followerCount of 2 is 0, not 1 to 1",
        "viewerRelation.following of 2 is False",
    ]
