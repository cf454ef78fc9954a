"""With mutual approval, no sequence of actions of two users leaves one follow without the other."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from graph import rules
from graph.decision_types import PairState, Rule
from graph.edge import FOLLOWS, NO_EDGE, Edge
from graph.receipt import UndoRecord
from graph.undo import undo, undo_record

LIMIT = 10

ACTIONS: dict[str, Callable[[], Rule]] = {
    "followUser": lambda: rules.follow(LIMIT, mutual=True),
    "acceptFollowRequest": lambda: rules.accept_request(LIMIT, mutual=True),
    "unfollowUser": lambda: rules.unfollow(mutual=True),
    "removeFollower": lambda: rules.remove_follower(mutual=True),
    "cancelFollowRequest": rules.cancel_request,
    "declineFollowRequest": rules.decline_request,
    "blockUser": lambda: rules.block(LIMIT),
    "unblockUser": rules.unblock,
    "muteUser": rules.mute,
    "updateFollow": lambda: rules.update_follow(close_follow=True),
    "dismissSuggestion": rules.dismiss,
}
UNDO = "undoRelationshipChange"

_moves = st.tuples(
    st.integers(0, 1),  # the actor
    st.sampled_from([*ACTIONS, UNDO]),
    st.sampled_from([1, LIMIT]),  # how many users the actor follows, and the other user
    st.sampled_from([1, LIMIT]),
    st.booleans(),  # whether both accounts are active
)


@given(moves=st.lists(_moves, max_size=12))
def test_all_follows_stay_mutual(moves: list[tuple[int, str, int, int, bool]]) -> None:
    edges: list[Edge] = [NO_EDGE, NO_EDGE]
    records: list[list[UndoRecord]] = [[], []]
    start = [(0, "followUser", 1, 1, True), (1, "acceptFollowRequest", 1, 1, True)]
    for now, (actor, name, following, other_following, active) in enumerate([*start, *moves]):
        state = PairState(
            edges[actor],
            edges[1 - actor],
            following,
            now * 1_000,
            other_following=other_following,
            protected=True,
            both_active=active,
        )
        if name != UNDO:
            rule = ACTIONS[name]()
        elif records[actor]:
            rule = undo(LIMIT, records[actor][-1], mutual=True)
        else:
            continue
        decision = rules.among_active(rule)(state)
        if decision.steps:
            records[actor].append(undo_record(state, decision))
        edges[actor], edges[1 - actor] = decision.edge, decision.reverse
        assert (edges[0].kind in FOLLOWS) == (edges[1].kind in FOLLOWS), name
