"""The result of every action in every state of two users, and invariants of all results."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graph.decision_types import Conditions, Decision, PairState, Rule
from graph.edge import FOLLOWS, NO_EDGE, Edge, Flags, Kind, Millis, Version
from graph.outcome import Outcome
from graph.pace import Pace, paced
from graph.relation import is_friends, relation
from graph.rules import (
    accept_request,
    among_active,
    block,
    cancel_request,
    decline_request,
    dismiss,
    end_mute,
    erase,
    follow,
    mute,
    remove_follower,
    unblock,
    unfollow,
    unmute,
    update_follow,
)
from graph.undo import undo, undo_record

NOW = 1_700_000_000_123_456
NOW_MS = Millis(NOW // 1000)
SINCE = Millis(5_000)
HIGH_LIMIT = 1_000

LETTERS = dict(zip("-FWRB", Kind, strict=True))
OUTCOMES_WITHOUT_CHANGE = {
    "af": Outcome.ALREADY_FOLLOWING,
    "ar": Outcome.ALREADY_REQUESTED,
    "nf": Outcome.NOT_FOLLOWING,
    "un": Outcome.UNCHANGED,
    "nd": Outcome.NOT_FOLLOWED,
    "nr": Outcome.NO_REQUEST,
    "ab": Outcome.ALREADY_BLOCKED,
    "nb": Outcome.NOT_BLOCKED,
    "na": Outcome.NOT_ALLOWED,
    "ub": Outcome.UNBLOCK_FIRST,
}

# A row for each kind of the actor's edge, a column for each kind of the reverse edge, both in the
# order - F W R B (NONE, FOLLOW, WHISPER, REQUEST, BLOCK). A cell has both kinds after the action,
# or the outcome of an action that changes nothing.
TABLES: dict[str, tuple[Rule, Outcome, bool, str]] = {
    "follow": (
        follow(10),
        Outcome.FOLLOWED,
        False,
        """
        F- FF FW FR na
        af af af af af
        af af af af af
        F- FF FW FR na
        ub ub ub ub ub
        """,
    ),
    "whisper": (
        follow(10, Kind.WHISPER),
        Outcome.FOLLOWED,
        False,
        """
        W- WF WW WR na
        af af af af af
        af af af af af
        W- WF WW WR na
        ub ub ub ub ub
        """,
    ),
    "follow a protected user": (
        follow(10),
        Outcome.REQUESTED,
        True,
        """
        R- RF RW RR na
        af af af af af
        af af af af af
        ar ar ar ar ar
        ub ub ub ub ub
        """,
    ),
    "follow with mutual approval": (
        follow(10, mutual=True),
        Outcome.REQUESTED,
        True,
        """
        R- RF RW FF na
        af af af af af
        af af af af af
        ar ar ar FF ar
        ub ub ub ub ub
        """,
    ),
    "whisper to a protected user": (
        follow(10, Kind.WHISPER),
        Outcome.REQUESTED,
        True,
        """
        R- RF RW RR na
        af af af af af
        af af af af af
        ar ar ar ar ar
        ub ub ub ub ub
        """,
    ),
    "unfollow": (
        unfollow(),
        Outcome.UNFOLLOWED,
        False,
        """
        nf nf nf nf nf
        -- -F -W -R -B
        -- -F -W -R -B
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "unfollow with mutual approval": (
        unfollow(mutual=True),
        Outcome.UNFOLLOWED,
        True,
        """
        nf nf nf nf nf
        -- -- -- -R -B
        -- -- -- -R -B
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "turn a whisper into a follow": (
        update_follow(Kind.FOLLOW),
        Outcome.UPDATED,
        False,
        """
        nf nf nf nf nf
        un un un un un
        F- FF FW FR FB
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "turn a follow into a whisper": (
        update_follow(Kind.WHISPER),
        Outcome.UPDATED,
        False,
        """
        nf nf nf nf nf
        W- WF WW WR WB
        un un un un un
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "mark a follow as close": (
        update_follow(close_follow=True),
        Outcome.UPDATED,
        False,
        """
        nf nf nf nf nf
        F- FF FW FR FB
        W- WF WW WR WB
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "turn on notifications": (
        update_follow(notify=True),
        Outcome.UPDATED,
        False,
        """
        nf nf nf nf nf
        F- FF FW FR FB
        W- WF WW WR WB
        nf nf nf nf nf
        nf nf nf nf nf
        """,
    ),
    "remove a follower": (
        remove_follower(),
        Outcome.FOLLOWER_REMOVED,
        False,
        """
        nd -- -- nd nd
        nd F- F- nd nd
        nd W- W- nd nd
        nd R- R- nd nd
        nd B- B- nd nd
        """,
    ),
    "remove a follower where whispers are hidden": (
        remove_follower(whispers=False),
        Outcome.FOLLOWER_REMOVED,
        False,
        """
        nd -- nd nd nd
        nd F- nd nd nd
        nd W- nd nd nd
        nd R- nd nd nd
        nd B- nd nd nd
        """,
    ),
    "remove a follower with mutual approval": (
        remove_follower(mutual=True),
        Outcome.FOLLOWER_REMOVED,
        True,
        """
        nd -- -- nd nd
        nd -- -- nd nd
        nd -- -- nd nd
        nd R- R- nd nd
        nd B- B- nd nd
        """,
    ),
    "accept a request": (
        accept_request(10),
        Outcome.REQUEST_ACCEPTED,
        False,
        """
        nr nr nr -F nr
        nr nr nr FF nr
        nr nr nr WF nr
        nr nr nr RF nr
        nr nr nr ub nr
        """,
    ),
    "accept a request with mutual approval": (
        accept_request(10, mutual=True),
        Outcome.REQUEST_ACCEPTED,
        True,
        """
        nr nr nr FF nr
        nr nr nr FF nr
        nr nr nr FF nr
        nr nr nr FF nr
        nr nr nr ub nr
        """,
    ),
    "decline a request": (
        decline_request(),
        Outcome.REQUEST_DECLINED,
        False,
        """
        nr nr nr -- nr
        nr nr nr F- nr
        nr nr nr W- nr
        nr nr nr R- nr
        nr nr nr B- nr
        """,
    ),
    "cancel a request": (
        cancel_request(),
        Outcome.REQUEST_CANCELLED,
        False,
        """
        nr nr nr nr nr
        nr nr nr nr nr
        nr nr nr nr nr
        -- -F -W -R -B
        nr nr nr nr nr
        """,
    ),
    "block": (
        block(10),
        Outcome.BLOCKED,
        False,
        """
        B- B- B- B- BB
        B- B- B- B- BB
        B- B- B- B- BB
        B- B- B- B- BB
        ab ab ab ab ab
        """,
    ),
    "unblock": (
        unblock(),
        Outcome.UNBLOCKED,
        False,
        """
        nb nb nb nb nb
        nb nb nb nb nb
        nb nb nb nb nb
        nb nb nb nb nb
        -- -F -W -R -B
        """,
    ),
    "mute": (
        mute(),
        Outcome.MUTED,
        False,
        """
        -- -F -W -R -B
        F- FF FW FR FB
        W- WF WW WR WB
        R- RF RW RR RB
        B- BF BW BR BB
        """,
    ),
    "dismiss": (
        dismiss(),
        Outcome.DISMISSED,
        False,
        """
        -- -F -W -R -B
        F- FF FW FR FB
        W- WF WW WR WB
        R- RF RW RR RB
        B- BF BW BR BB
        """,
    ),
}


def edge(kind: Kind, flags: Flags = Flags.PLAIN) -> Edge:
    return Edge(kind, flags, SINCE, Version(7)) if kind or flags else NO_EDGE


@pytest.mark.parametrize("name", TABLES)
def test_the_table_of_rules(name: str) -> None:
    for kind, row in zip(Kind, TABLES[name][3].strip().splitlines(), strict=True):
        for reverse_kind, cell in zip(Kind, row.split(), strict=True):
            assert_rule(name, kind, reverse_kind, cell)


def assert_rule(name: str, kind: Kind, reverse_kind: Kind, cell: str) -> None:
    """The rule has the result in the cell of its table."""
    rule, outcome, protected, _ = TABLES[name]
    state = PairState(edge(kind), edge(reverse_kind), following=1, now=NOW, protected=protected)
    decision = rule(state)
    unchanged = OUTCOMES_WITHOUT_CHANGE.get(cell)
    after = (kind, reverse_kind) if unchanged else (LETTERS[cell[0]], LETTERS[cell[1]])
    if cell == "FF" and outcome is Outcome.REQUESTED:
        outcome = Outcome.FOLLOWED  # because the other user has requested it too
    assert decision.outcome is (unchanged or outcome), (kind, reverse_kind)
    assert (decision.relation.kind, decision.relation.reverse_kind) == after, (kind, reverse_kind)
    assert bool(decision.steps) is (unchanged is None), (kind, reverse_kind)


_states = st.builds(
    PairState,
    edge=st.builds(
        Edge,
        kind=st.sampled_from(Kind),
        flags=st.sampled_from([*Flags, Flags.CLOSE_FOLLOW | Flags.MUTED]),
        since=st.integers(0, 2**41).map(Millis),
        version=st.integers(0, 2**52).map(Version),
    ),
    reverse=st.builds(
        Edge,
        kind=st.sampled_from(Kind),
        flags=st.sampled_from(list(Flags)),
        since=st.integers(0, 2**41).map(Millis),
        version=st.integers(0, 2**52).map(Version),
    ),
    following=st.integers(0, 20),
    blocks=st.integers(0, 20),
    now=st.integers(0, 2**52),
    following_limit=st.none() | st.integers(0, 20),
    protected=st.booleans(),
    both_active=st.booleans(),
)
_MUTE_AND_DISMISSAL = Flags.MUTED | Flags.DISMISSED
_rules = st.sampled_from([rule for rule, *_ in TABLES.values()]) | st.just(unmute())


@given(rule=_rules, state=_states)
def test_the_steps_lead_from_the_state_before_to_the_result(rule: Rule, state: PairState) -> None:
    decision = rule(state)
    edges = {False: state.edge, True: state.reverse}
    friends = is_friends(state.relation.kinds)
    for step in decision.steps:
        assert step.previous == edges[step.is_reverse]
        assert step.edge.version > step.previous.version
        assert step.edge.version >= state.now
        edges[step.is_reverse] = step.edge
    after = relation(
        edges[False].kind,
        edges[False].since,
        edges[True].kind,
        edges[True].since,
        edges[False].flags,
    )
    assert decision.relation == after
    assert friends + sum(step.friends for step in decision.steps) == is_friends(after.kinds)


@given(rule=_rules, state=_states)
def test_a_repeated_action_changes_nothing(rule: Rule, state: PairState) -> None:
    once = rule(state)
    again = rule(_after(state, once))
    assert again.steps == ()
    assert again.relation == once.relation


@given(rule=_rules, state=_states)
def test_no_rule_but_unmute_removes_a_mute(rule: Rule, state: PairState) -> None:
    decision = rule(state)
    if decision.outcome is not Outcome.UNMUTED:
        assert all(
            step.previous.flags & _MUTE_AND_DISMISSAL & ~step.edge.flags == 0
            for step in decision.steps
        )


_undoable = st.sampled_from(
    [
        unfollow(),
        unfollow(mutual=True),
        remove_follower(),
        block(HIGH_LIMIT),
        decline_request(),
        cancel_request(),
    ]
)


@given(rule=_undoable, state=_states)
def test_an_undo_restores_both_edges_with_their_dates(rule: Rule, state: PairState) -> None:
    assume(Kind.BLOCK not in (state.edge.kind, state.reverse.kind))
    done = rule(state)
    assume(done.steps)
    after = _after(state, done)
    record = undo_record(state, done)
    undone = undo(HIGH_LIMIT, record)(replace(after, both_active=True, following_limit=None))
    assert undone.outcome is Outcome.RESTORED
    assert undone.relation == state.relation


def test_an_undo_restores_the_messages_of_requests() -> None:
    state = PairState(
        edge(Kind.REQUEST), edge(Kind.REQUEST), 1, NOW, message="mine", other_message="theirs"
    )
    for rule, messages in (
        (block(HIGH_LIMIT), ["mine", "theirs"]),
        (cancel_request(), ["mine"]),
        (decline_request(), ["theirs"]),
    ):
        done = rule(state)
        undone = undo(HIGH_LIMIT, undo_record(state, done))(_after(state, done))
        assert [step.message for step in undone.steps] == messages


HIDDEN_ACTIONS: dict[str, tuple[Rule, ...]] = {
    "mute": (mute(),),
    "mute and unmute": (mute(), unmute()),
    "dismiss": (dismiss(),),
    "mark a follow as close": (update_follow(close_follow=True),),
    "turn on notifications": (update_follow(notify=True),),
}


KINDS_BEFORE = [
    *product((Kind.FOLLOW, Kind.WHISPER, Kind.NONE), FOLLOWS),
    *product(FOLLOWS, (Kind.FOLLOW, Kind.WHISPER, Kind.NONE)),
    (Kind.NONE, Kind.REQUEST),
    (Kind.REQUEST, Kind.NONE),
]


@pytest.mark.parametrize("actions", HIDDEN_ACTIONS.values(), ids=HIDDEN_ACTIONS)
@pytest.mark.parametrize(
    "ending",
    [unfollow(), remove_follower(), block(HIGH_LIMIT), decline_request(), cancel_request()],
)
def test_an_undo_does_not_reveal_hidden_changes_of_the_other_user(
    ending: Rule, actions: tuple[Rule, ...]
) -> None:
    """It does not revert them either."""
    for kind, reverse_kind in KINDS_BEFORE:
        assert_undo_is_unaffected(ending, kind, reverse_kind, actions)


def assert_undo_is_unaffected(
    ending: Rule, kind: Kind, reverse_kind: Kind, actions: tuple[Rule, ...]
) -> None:
    state = PairState(edge(kind), edge(reverse_kind), 1, NOW)
    done = ending(state)
    after, record = _after(state, done), undo_record(state, done)
    if not done.steps:
        return
    other_side = _reversed(after)
    for action in actions:
        other_side = _after(other_side, action(other_side))
    after_actions = _reversed(other_side)
    expected = undo(HIGH_LIMIT, record, whispers=False)(after)
    undone = undo(HIGH_LIMIT, record, whispers=False)(after_actions)
    before = (kind, reverse_kind)
    assert undone.outcome is expected.outcome is Outcome.RESTORED, before
    assert undone.edge.kind is expected.edge.kind, before
    assert undone.reverse.kind is expected.reverse.kind, before
    assert (
        undone.reverse.flags & _MUTE_AND_DISMISSAL
        == after_actions.reverse.flags & _MUTE_AND_DISMISSAL
    ), before


@pytest.mark.parametrize("own_kind", [Kind.NONE, *FOLLOWS])
@pytest.mark.parametrize(
    ("ending", "kind"), [(remove_follower(), Kind.FOLLOW), (decline_request(), Kind.REQUEST)]
)
def test_an_undo_has_the_same_outcome_for_a_hidden_whisper_and_a_full_limit(
    ending: Rule, kind: Kind, own_kind: Kind
) -> None:
    state = PairState(edge(own_kind), edge(kind), 1, NOW, other_following_limit=5)
    done = ending(state)
    after, record = _after(state, done), undo_record(state, done)
    whispering = _reversed(after)
    whispering = _reversed(_after(whispering, follow(HIGH_LIMIT, Kind.WHISPER)(whispering)))
    assert whispering.reverse.kind is Kind.WHISPER
    for now in (whispering, replace(after, other_following=5)):
        result = undo(HIGH_LIMIT, record, whispers=False)(now)
        assert (result.outcome, result.steps) == (Outcome.CANNOT_UNDO, ())


def test_an_undo_after_a_block_by_the_other_user_has_the_outcome_of_a_follow() -> None:
    state = PairState(edge(Kind.FOLLOW), NO_EDGE, 1, NOW)
    done = unfollow()(state)
    after, record = _after(state, done), undo_record(state, done)
    blocked = _reversed(_after(_reversed(after), block(HIGH_LIMIT)(_reversed(after))))
    for now in (blocked, replace(after, both_active=False)):
        assert undo(HIGH_LIMIT, record)(now).outcome is follow(HIGH_LIMIT)(now).outcome
    unblocked = _reversed(_after(_reversed(blocked), unblock()(_reversed(blocked))))
    assert undo(HIGH_LIMIT, record)(unblocked).outcome is Outcome.RESTORED


def test_a_block_by_the_other_user_does_not_affect_the_undo_of_a_block_without_follows() -> None:
    state = PairState(NO_EDGE, NO_EDGE, 1, NOW)
    done = block(HIGH_LIMIT)(state)
    after, record = _after(state, done), undo_record(state, done)
    blocked = replace(after, reverse=edge(Kind.BLOCK))
    for now in (after, blocked, replace(after, both_active=False)):
        undone = undo(HIGH_LIMIT, record)(now)
        assert (undone.outcome, undone.edge.kind) == (Outcome.RESTORED, Kind.NONE)
        assert undone.reverse.kind is now.reverse.kind


def test_an_undo_is_rejected_after_a_newer_change() -> None:
    state = PairState(edge(Kind.FOLLOW), NO_EDGE, following=1, now=NOW)
    done = unfollow()(state)
    after, record = _after(state, done), undo_record(state, done)
    later = _after(after, follow(10)(after))
    assert undo(HIGH_LIMIT, record)(later).outcome is Outcome.CANNOT_UNDO
    state = PairState(NO_EDGE, edge(Kind.FOLLOW), following=1, now=NOW)
    done = remove_follower()(state)
    after, record = _after(state, done), undo_record(state, done)
    for action in (block(HIGH_LIMIT), mute()):
        assert undo(HIGH_LIMIT, record)(_after(after, action(after))).outcome is Outcome.CANNOT_UNDO
    for kind in (Kind.FOLLOW, Kind.WHISPER, Kind.REQUEST):
        followed_again = replace(after, reverse=edge(kind))
        assert undo(HIGH_LIMIT, record)(followed_again).outcome is Outcome.CANNOT_UNDO


@pytest.mark.parametrize("ending", [unfollow(), block(HIGH_LIMIT)])
@pytest.mark.parametrize("kind", sorted(FOLLOWS))
@pytest.mark.parametrize("was_protected", [False, True])
def test_undoing_an_unfollow_of_an_account_that_has_become_protected_is_a_request(
    ending: Rule, kind: Kind, was_protected: bool
) -> None:
    kept = Flags.CLOSE_FOLLOW | Flags.NOTIFY
    state = PairState(edge(kind, kept), NO_EDGE, 1, NOW, protected=was_protected)
    done = ending(state)
    after, record = _after(state, done), undo_record(state, done)
    undone = undo(HIGH_LIMIT, record)(replace(after, protected=True))
    assert undone.outcome is Outcome.RESTORED
    if was_protected:
        assert undone.relation == state.relation
    else:
        request_flag = Flags.WHISPER_REQUEST if kind is Kind.WHISPER else Flags.PLAIN
        assert undone.edge.kind is Kind.REQUEST
        assert undone.edge.flags == kept | request_flag


def test_an_undo_restores_no_follow_above_the_other_users_limit() -> None:
    state = PairState(edge(Kind.FOLLOW), edge(Kind.FOLLOW), 1, NOW, other_following=3)
    blocked = block(HIGH_LIMIT)(state)
    for own_limit, limit, after in ((None, 3, Kind.NONE), (4, 3, Kind.FOLLOW), (3, 9, Kind.NONE)):
        full = replace(_after(state, blocked), other_following_limit=own_limit)
        undone = undo(limit, undo_record(state, blocked))(full)
        assert undone.outcome is Outcome.RESTORED
        assert (undone.edge.kind, undone.reverse.kind) == (Kind.FOLLOW, after)
    removed = remove_follower()(state)
    undone = undo(3, undo_record(state, removed))(_after(state, removed))
    assert undone.outcome is Outcome.CANNOT_UNDO


_mutually_undoable = st.sampled_from(
    [unfollow(mutual=True), remove_follower(mutual=True), block(HIGH_LIMIT), decline_request()]
)


@given(
    rule=_mutually_undoable,
    state=_states,
    whispers=st.booleans(),
    other_is_at_limit=st.booleans(),
    protected=st.booleans(),
)
def test_with_mutual_approval_an_undo_restores_both_follows_or_none(
    rule: Rule, state: PairState, whispers: bool, other_is_at_limit: bool, protected: bool
) -> None:
    done = rule(state)
    assume(done.steps)
    limit = state.other_following if other_is_at_limit else HIGH_LIMIT
    now = replace(
        _after(state, done),
        following_limit=None,
        other_following_limit=limit,
        protected=protected,
        both_active=True,
    )
    undone = undo(HIGH_LIMIT, undo_record(state, done), whispers=whispers, mutual=True)(now)
    if any(step.edge.kind in FOLLOWS for step in undone.steps if whispers or not step.is_reverse):
        assert {undone.edge.kind, undone.reverse.kind} <= FOLLOWS
    elif state.edge.kind is state.reverse.kind is Kind.FOLLOW and other_is_at_limit:
        assert (undone.outcome, undone.steps) == (Outcome.CANNOT_UNDO, ())


@pytest.mark.parametrize(
    "ending", [unfollow(mutual=True), remove_follower(mutual=True), block(HIGH_LIMIT)]
)
def test_with_mutual_approval_an_undo_is_rejected_while_the_other_user_is_at_their_limit(
    ending: Rule,
) -> None:
    state = PairState(
        edge(Kind.FOLLOW), edge(Kind.FOLLOW), 1, NOW, other_following=2, protected=True
    )
    done = ending(state)
    after, record = _after(state, done), undo_record(state, done)
    rejected = undo(3, record, mutual=True)(replace(after, other_following=3))
    assert (rejected.outcome, rejected.steps) == (Outcome.CANNOT_UNDO, ())
    undone = undo(3, record, mutual=True)(after)
    assert (undone.outcome, undone.relation) == (Outcome.RESTORED, state.relation)
    assert undone.conditions == Conditions(following_below=3, other_following_below=3)


def test_with_mutual_approval_an_undo_does_not_reveal_a_hidden_whisper() -> None:
    """Of a time before all follows were mutual."""
    results = set()
    for reverse in (NO_EDGE, edge(Kind.WHISPER)):
        for own in Kind.NONE, Kind.FOLLOW, Kind.REQUEST:
            state = PairState(edge(own), reverse, 1, NOW, protected=True)
            done = block(HIGH_LIMIT)(state)
            record = undo_record(state, done)
            undone = undo(HIGH_LIMIT, record, whispers=False, mutual=True)(_after(state, done))
            results.add((own, undone.outcome, undone.edge.kind))
    assert results == {
        (Kind.NONE, Outcome.RESTORED, Kind.NONE),
        (Kind.FOLLOW, Outcome.CANNOT_UNDO, Kind.BLOCK),
        (Kind.REQUEST, Outcome.RESTORED, Kind.REQUEST),
    }


def test_the_restored_follow_of_the_other_user_has_their_limit_as_a_condition() -> None:
    for kind, condition in ((Kind.FOLLOW, 7), (Kind.REQUEST, 7), (Kind.NONE, None)):
        state = PairState(edge(Kind.FOLLOW), edge(kind), 1, NOW, other_following_limit=7)
        done = block(HIGH_LIMIT)(state)
        undone = undo(HIGH_LIMIT, undo_record(state, done))(_after(state, done))
        assert undone.outcome is Outcome.RESTORED
        assert undone.conditions.other_following_below == condition
        charged = paced(undo(HIGH_LIMIT, undo_record(state, done)), Pace(1, 9))
        assert charged(_after(state, done)).conditions.other_following_below == condition


def test_turning_a_whisper_into_a_follow_keeps_its_date() -> None:
    decision = update_follow(Kind.FOLLOW)(PairState(edge(Kind.WHISPER), NO_EDGE, 1, NOW))
    assert decision.steps[0].edge.since == SINCE


def test_a_new_follow_has_the_current_time() -> None:
    decision = follow(10)(PairState(NO_EDGE, NO_EDGE, 0, NOW))
    assert decision.steps[0].edge == Edge(Kind.FOLLOW, Flags.PLAIN, NOW_MS, Version(NOW))


def test_a_request_for_a_whisper_becomes_a_whisper_or_a_follow_if_whispers_are_hidden() -> None:
    asked = follow(10, Kind.WHISPER, message="hello")(
        PairState(NO_EDGE, NO_EDGE, 0, NOW, protected=True)
    )
    assert asked.steps[0].message == "hello"
    accepted = accept_request(10)(PairState(NO_EDGE, asked.steps[0].edge, 0, NOW + 1))
    assert accepted.relation.reverse_kind is Kind.WHISPER
    assert Flags.WHISPER_REQUEST not in accepted.steps[0].edge.flags
    asked_before = PairState(NO_EDGE, asked.steps[0].edge, 0, NOW + 1)
    accepted_as_follow = accept_request(10, whispers=False)(asked_before)
    assert (accepted_as_follow.reverse.kind, accepted_as_follow.reverse.flags) == (
        Kind.FOLLOW,
        Flags.PLAIN,
    )


def test_a_repeated_request_to_an_account_that_is_no_longer_protected_is_a_follow() -> None:
    decision = follow(10)(PairState(edge(Kind.REQUEST), NO_EDGE, 10, NOW))
    assert decision.outcome is Outcome.FOLLOWED


@pytest.mark.parametrize(("own_limit", "limit"), [(None, 3), (5, 5), (0, 0)])
def test_a_follow_is_rejected_at_the_limit_and_allowed_below_it(
    own_limit: int | None, limit: int
) -> None:
    state = PairState(NO_EDGE, NO_EDGE, following=limit, now=NOW, following_limit=own_limit)
    rejected = follow(3)(state)
    assert rejected.outcome is Outcome.FOLLOWING_LIMIT_REACHED
    assert rejected.limit == (limit, limit)
    if limit:
        assert follow(3)(replace(state, following=limit - 1)).steps


def test_accepting_with_a_follow_back_respects_the_limit() -> None:
    state = PairState(NO_EDGE, edge(Kind.REQUEST), following=3, now=NOW, protected=True)
    assert accept_request(3)(state).steps
    rejected = accept_request(3, mutual=True)(state)
    assert rejected.outcome is Outcome.FOLLOWING_LIMIT_REACHED


def test_a_block_is_rejected_at_the_limit_of_blocks() -> None:
    rejected = block(3)(PairState(NO_EDGE, NO_EDGE, 0, NOW, blocks=3))
    assert (rejected.outcome, rejected.limit) == (Outcome.BLOCK_LIMIT_REACHED, (3, 3))


def test_rules_treat_relations_with_an_absent_account_as_none() -> None:
    for kind, reverse_kind in product(Kind, Kind):
        absent = PairState(edge(kind), edge(reverse_kind), 1, NOW, both_active=False)
        result = Outcome.UNBLOCK_FIRST if kind is Kind.BLOCK else Outcome.NOT_ALLOWED
        for rule in (follow(3), follow(3, Kind.WHISPER)):
            for protected in (True, False):
                assert rule(replace(absent, protected=protected)).outcome is result
        assert update_follow(close_follow=True)(absent).outcome is Outcome.NOT_FOLLOWING
        assert accept_request(3)(absent).outcome is Outcome.NO_REQUEST


EVERY_RULE = (
    *(follow(3), unfollow(), update_follow(Kind.WHISPER), remove_follower(), accept_request(3)),
    *(decline_request(), cancel_request(), block(3), unblock(), mute(), unmute(), dismiss()),
)


def test_an_inactive_account_changes_nothing() -> None:
    for rule, kind, reverse_kind in product(EVERY_RULE, Kind, Kind):
        state = PairState(
            edge(kind), edge(reverse_kind), 1, NOW, both_active=False, actor_active=False
        )
        decision = among_active(rule)(state)
        assert (decision.outcome, decision.steps) == (Outcome.ACCOUNT_NOT_ACTIVE, ())


def test_actions_towards_a_deleted_account_only_end_edges() -> None:
    changed = set()
    for rule, kind, reverse_kind in product(EVERY_RULE, Kind, Kind):
        state = PairState(edge(kind), edge(reverse_kind), 1, NOW, both_active=False, deleted=True)
        decision = among_active(rule)(state)
        after = {decision.edge.kind, decision.reverse.kind}
        assert after <= {kind, reverse_kind, Kind.NONE}
        assert not decision.edge.flags
        changed |= {decision.outcome} if decision.steps else set()
    assert changed == {
        Outcome.UNFOLLOWED,
        Outcome.FOLLOWER_REMOVED,
        Outcome.REQUEST_DECLINED,
        Outcome.REQUEST_CANCELLED,
        Outcome.UNBLOCKED,
    }


def test_an_erasure_keeps_only_the_mute_and_dismissal_of_the_other_user() -> None:
    kept_flags = Flags.MUTED | Flags.DISMISSED
    for kind, reverse_kind, flags in product(
        Kind, Kind, (Flags.PLAIN, kept_flags, Flags.CLOSE_FOLLOW)
    ):
        state = PairState(
            edge(kind, flags), edge(reverse_kind, flags), 1, NOW, muted_until=Millis(5)
        )
        decision = erase()(state)
        assert (decision.edge.kind, decision.edge.flags) == (Kind.NONE, Flags.PLAIN)
        assert decision.reverse.kind is Kind.NONE
        assert all(step.muted_until is None for step in decision.steps)
        if reverse_kind:
            assert decision.reverse.flags == flags & kept_flags
        friends = kind is reverse_kind is Kind.FOLLOW
        assert sum(step.friends for step in decision.steps) == -friends
        assert not erase()(replace(state, edge=decision.edge, reverse=decision.reverse)).steps


def test_the_end_of_a_mute_can_be_changed() -> None:
    muted = PairState(edge(Kind.NONE, Flags.MUTED), NO_EDGE, 0, NOW, muted_until=Millis(9))
    assert mute(Millis(9))(muted).outcome is Outcome.ALREADY_MUTED
    assert mute()(muted).steps[0].muted_until is None
    assert mute(Millis(10))(muted).steps[0].muted_until == Millis(10)


@pytest.mark.parametrize("ended", [unfollow(), block(10)])
def test_an_undo_is_rejected_at_the_following_limit(ended: Rule) -> None:
    state = PairState(edge(Kind.FOLLOW), NO_EDGE, following=3, now=NOW)
    done = ended(state)
    record = undo_record(state, done)
    full = replace(_after(state, done), following=3)
    rejected = undo(3, record)(full)
    assert (rejected.outcome, rejected.limit) == (Outcome.FOLLOWING_LIMIT_REACHED, (3, 3))
    undone = undo(3, record)(replace(full, following=2))
    assert undone.outcome is Outcome.RESTORED
    assert undone.conditions.following_below == 3


@pytest.mark.parametrize(
    ("until", "outcome"),
    [
        (NOW_MS - 1, Outcome.UNMUTED),
        (NOW_MS, Outcome.UNMUTED),
        (NOW_MS + 1, Outcome.NOT_MUTED),
        (None, Outcome.NOT_MUTED),
    ],
)
def test_end_mute_ends_only_a_mute_whose_time_has_passed(
    until: Millis | None, outcome: Outcome
) -> None:
    muted = PairState(edge(Kind.FOLLOW, Flags.MUTED), NO_EDGE, 1, NOW, muted_until=until)
    assert end_mute()(muted).outcome is outcome


def _reversed(state: PairState) -> PairState:
    return replace(state, edge=state.reverse, reverse=state.edge)


def _after(state: PairState, decision: Decision) -> PairState:
    edges = {step.is_reverse: step.edge for step in decision.steps}
    until = [step.muted_until for step in decision.steps if not step.is_reverse]
    return replace(
        state,
        edge=edges.get(False, state.edge),
        reverse=edges.get(True, state.reverse),
        muted_until=until[0] if until else state.muted_until,
    )
