"""What a follow button says is what following comes to, over all that may be before it."""

from itertools import product

import pytest

from graph.decision import PairState
from graph.edge import Edge, Flags, Kind, Millis, Version
from graph.eligibility import Eligibility, eligibility
from graph.outcome import CHANGES
from graph.transitions import follow

LIMIT = 3


def _edge(kind: Kind) -> Edge:
    return Edge(kind, Flags.MUTED, Millis(1), Version(2))


@pytest.mark.parametrize(("kind", "back_kind"), list(product(Kind, Kind)))
def test_who_can_follow_changes_something_by_it(kind: Kind, back_kind: Kind) -> None:
    for protected, present, following in product((True, False), (True, False), (0, LIMIT)):
        before = PairState(
            _edge(kind), _edge(back_kind), following, 9, protected=protected, present=present
        )
        said = eligibility(before, LIMIT)
        assert said.can_follow == (follow(LIMIT)(before).outcome in CHANGES)
        assert (said is Eligibility.APPROVAL_NEEDED) <= protected
