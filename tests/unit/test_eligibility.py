"""The eligibility codes match the outcomes of a follow in every state of two users."""

from itertools import product

import pytest

from graph.decision_types import PairState
from graph.edge import Edge, Flags, Kind, Millis, Version
from graph.outcome import CHANGES, Outcome
from graph.rules import among_active, follow
from schema.eligibility import ELIGIBILITIES, FollowEligibilityCode

LIMIT = 3
CAN_FOLLOW = {FollowEligibilityCode.ALLOWED, FollowEligibilityCode.APPROVAL_NEEDED}


def _edge(kind: Kind) -> Edge:
    return Edge(kind, Flags.MUTED, Millis(1), Version(2))


@pytest.mark.parametrize(("kind", "reverse_kind"), list(product(Kind, Kind)))
def test_the_code_allows_a_follow_if_the_follow_would_change_the_relation(
    kind: Kind, reverse_kind: Kind
) -> None:
    for protected, both_active, following in product((True, False), (True, False), (0, LIMIT)):
        state = PairState(
            _edge(kind),
            _edge(reverse_kind),
            following,
            9,
            protected=protected,
            both_active=both_active,
        )
        code, _ = ELIGIBILITIES[among_active(follow(LIMIT))(state).outcome]
        assert (code in CAN_FOLLOW) == (follow(LIMIT)(state).outcome in CHANGES)
        assert (code is FollowEligibilityCode.APPROVAL_NEEDED) <= protected


def test_every_code_belongs_to_one_outcome() -> None:
    assert sorted(code.name for code, _ in ELIGIBILITIES.values()) == sorted(
        code.name for code in FollowEligibilityCode
    )
    assert {outcome for outcome in ELIGIBILITIES if outcome in CHANGES} == {
        Outcome.FOLLOWED,
        Outcome.REQUESTED,
    }
