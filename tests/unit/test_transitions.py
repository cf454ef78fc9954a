"""What following and unfollowing do to an edge, whatever was there before."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Version
from graph.relation import follows, relation
from graph.transitions import Before, Outcome, Rule, follow, unfollow

NOW = 1_700_000_000_123_456
FOLLOW = Edge(Kind.FOLLOW, Flags.PLAIN, Millis(5_000), Version(5_000_000))
TOMBSTONE = Edge(Kind.NONE, Flags.PLAIN, Millis(6_000), Version(6_000_000))

edges = st.just(NO_EDGE) | st.builds(
    Edge,
    kind=st.sampled_from(Kind),
    flags=st.sampled_from([Flags.PLAIN, Flags.SPECIAL, Flags.MUTED]),
    since=st.integers(0, 2**41).map(Millis),
    version=st.integers(1, 2**52).map(Version),
)
befores = st.builds(
    Before,
    edge=edges,
    back=edges,
    following=st.integers(0, 20),
    now=st.integers(0, 2**52),
)
rules = st.integers(0, 20).map(follow) | st.just(unfollow)


def before(edge: Edge = NO_EDGE, back: Edge = NO_EDGE, following: int = 0) -> Before:
    return Before(edge, back, following, NOW)


def test_a_stranger_is_followed() -> None:
    decision = follow(10)(before())
    assert decision.outcome is Outcome.FOLLOWED
    assert decision.change is not None
    assert decision.change.edge == Edge(Kind.FOLLOW, Flags.PLAIN, Millis(NOW // 1000), Version(NOW))
    assert (decision.change.following, decision.change.friends) == (1, 0)
    assert decision.relation == relation(Kind.FOLLOW, Millis(NOW // 1000), Kind.NONE, Millis(0))


def test_returning_a_follow_makes_friends() -> None:
    decision = follow(10)(before(back=FOLLOW))
    assert decision.change is not None
    assert (decision.change.following, decision.change.friends) == (1, 1)
    assert decision.relation == relation(
        Kind.FOLLOW, Millis(NOW // 1000), Kind.FOLLOW, FOLLOW.since
    )


def test_following_twice_is_no_change_and_keeps_the_date() -> None:
    decision = follow(10)(before(FOLLOW, following=1))
    assert (decision.outcome, decision.change) == (Outcome.ALREADY_FOLLOWING, None)
    assert decision.relation.since == FOLLOW.since


def test_who_is_followed_already_is_no_matter_of_the_limit() -> None:
    assert follow(1)(before(FOLLOW, following=1)).outcome is Outcome.ALREADY_FOLLOWING


def test_the_limit_is_the_last_follow_that_is_allowed() -> None:
    assert follow(3)(before(following=2)).outcome is Outcome.FOLLOWED
    refused = follow(3)(before(following=3))
    assert (refused.outcome, refused.change) == (Outcome.FOLLOWING_LIMIT_REACHED, None)
    assert follow(3)(before(following=4)).outcome is Outcome.FOLLOWING_LIMIT_REACHED


def test_unfollowing_ends_a_friendship() -> None:
    decision = unfollow(before(FOLLOW, back=FOLLOW, following=1))
    assert decision.outcome is Outcome.UNFOLLOWED
    assert decision.change is not None
    assert decision.change.edge.kind is Kind.NONE
    assert (decision.change.following, decision.change.friends) == (-1, -1)
    assert decision.relation == relation(Kind.NONE, Millis(0), Kind.FOLLOW, FOLLOW.since)


def test_a_tombstone_is_not_followed_and_shows_no_date() -> None:
    decision = unfollow(before(TOMBSTONE))
    assert (decision.outcome, decision.change) == (Outcome.NOT_FOLLOWING, None)
    assert decision.relation.since == 0
    assert follow(10)(before(TOMBSTONE)).outcome is Outcome.FOLLOWED


def test_a_tombstone_on_the_way_back_makes_no_friends() -> None:
    decision = follow(10)(before(back=TOMBSTONE))
    assert decision.change is not None
    assert decision.change.friends == 0
    assert decision.relation.back_since == 0


def test_a_change_in_the_same_microsecond_is_newer() -> None:
    edge = replace(TOMBSTONE, version=Version(NOW))
    decision = follow(10)(before(edge))
    assert decision.change is not None
    assert decision.change.edge.version == NOW + 1


@given(before=befores, rule=rules)
def test_a_version_never_falls_even_if_the_clock_does(before: Before, rule: Rule) -> None:
    change = rule(before).change
    if change is not None:
        assert change.edge.version > before.edge.version
        assert change.edge.version >= before.now


@given(before=befores, rule=rules)
def test_the_counts_move_by_what_was_changed(before: Before, rule: Rule) -> None:
    decision = rule(before)
    was = before.edge.kind is Kind.FOLLOW
    if decision.change is None:
        assert follows(decision.relation.kinds) == was
        return
    becomes = decision.change.edge.kind is Kind.FOLLOW
    mutual = before.back.kind is Kind.FOLLOW
    assert decision.change.following == becomes - was
    assert decision.change.friends == (becomes and mutual) - (was and mutual)


@given(before=befores, rule=rules)
def test_the_relation_that_is_told_is_the_one_that_is_written(before: Before, rule: Rule) -> None:
    decision = rule(before)
    edge = before.edge if decision.change is None else decision.change.edge
    ahead, back = decision.relation.kind, decision.relation.back_kind
    assert (ahead, back) == (edge.kind, before.back.kind)
    assert decision.relation.since == (edge.since if edge.kind else 0)
    assert decision.relation.back_since == (before.back.since if before.back.kind else 0)


@given(before=befores, rule=rules)
def test_doing_it_again_changes_nothing(before: Before, rule: Rule) -> None:
    first = rule(before)
    if first.change is None:
        return
    following = before.following + first.change.following
    again = rule(replace(before, edge=first.change.edge, following=following))
    assert again.change is None
    assert again.outcome in (Outcome.ALREADY_FOLLOWING, Outcome.NOT_FOLLOWING)
    assert again.relation == first.relation
