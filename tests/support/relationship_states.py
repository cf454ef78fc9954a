"""Generate docs/relationship-states.md: the result of every action in every state, from the rules.

`make states` writes the page; a test compares the two.
"""

from collections.abc import Iterator
from itertools import product

from graph import rules
from graph.decision_types import Decision, PairState, Rule
from graph.edge import NO_EDGE, Edge, Flags, Kind, Millis, Version
from graph.outcome import Outcome

HIGH_LIMIT = 10
NOW = 2_000_000

ACTIONS: dict[str, tuple[Rule, bool]] = {
    "followUser": (rules.follow(HIGH_LIMIT), False),
    "followUser, a whisper": (rules.follow(HIGH_LIMIT, Kind.WHISPER), False),
    "followUser, of a protected user": (rules.follow(HIGH_LIMIT), True),
    "updateFollow, to a whisper": (rules.update_follow(Kind.WHISPER), False),
    "updateFollow, to a public follow": (rules.update_follow(Kind.FOLLOW), False),
    "updateFollow, to a close follow": (rules.update_follow(close_follow=True), False),
    "unfollowUser": (rules.unfollow(), False),
    "removeFollower": (rules.remove_follower(), False),
    "acceptFollowRequest": (rules.accept_request(HIGH_LIMIT), True),
    "declineFollowRequest": (rules.decline_request(), True),
    "cancelFollowRequest": (rules.cancel_request(), True),
    "blockUser": (rules.block(HIGH_LIMIT), False),
    "unblockUser": (rules.unblock(), False),
    "muteUser": (rules.mute(), False),
    "dismissSuggestion": (rules.dismiss(), False),
}
"""Each action, and whether the other user is protected."""

MUTUAL: dict[str, tuple[Rule, bool]] = {
    "followUser": (rules.follow(HIGH_LIMIT, mutual=True), True),
    "acceptFollowRequest": (rules.accept_request(HIGH_LIMIT, mutual=True), True),
    "unfollowUser": (rules.unfollow(mutual=True), True),
    "removeFollower": (rules.remove_follower(mutual=True), True),
}
"""The actions that are different with `KITH_MUTUAL_APPROVAL=on`."""

HEAD = """\
# States and actions

Generated from `graph/rules.py` by `make states`; do not edit.

An edge goes from one user to another and has one of five kinds. Two users have two edges, one in
each direction, so there are 25 states. Every action is a rule about both edges.

## One edge

How the edge from A to B changes, by actions of A and by actions of B.
"""

TABLES = """
## Both edges

Rows: the kind of the actor's edge to the other user. Columns: the kind of the other user's edge to
the actor. A cell has both kinds after the action (in this order), or the outcome of an action that
changes neither edge. "flag set": the kinds stay, and a flag of the actor's edge is set.
"""

MUTUAL_HEAD = """
## With mutual approval

These are different with `KITH_MUTUAL_APPROVAL=on`. Every account is protected then.
"""

NOTES = """
## Notes

The flags CLOSE_FOLLOW and NOTIFY belong to a follow and end with it. The flags MUTED and DISMISSED
can be set without a follow; only `unmuteUser`, the end of the mute or the
[deletion](accounts.md#deletion) of an account removes MUTED. A request for a whisper becomes a
whisper when it is accepted, unless whispers are hidden from their targets. The outcomes of limits
are not shown: `FOLLOWING_LIMIT_REACHED`, `BLOCK_LIMIT_REACHED` and `RATE_LIMITED` change nothing.
`undoRelationshipChange` restores the state before, where [undo](undo.md) says so.
"""


def page() -> str:
    """The whole page."""
    return "".join(
        [
            HEAD,
            *_diagram(),
            TABLES,
            *_tables(ACTIONS),
            MUTUAL_HEAD,
            *_tables(MUTUAL),
            NOTES,
        ]
    )


def _decided(rule: Rule, protected: bool, kind: Kind, reverse_kind: Kind) -> Decision:
    return rule(PairState(of_kind(kind), of_kind(reverse_kind), 1, NOW, protected=protected))


def of_kind(kind: Kind) -> Edge:
    """An edge of a kind, without flags."""
    return Edge(kind, Flags.PLAIN, Millis(1), Version(1)) if kind else NO_EDGE


def _diagram() -> Iterator[str]:
    yield "\n```mermaid\nstateDiagram-v2\n    [*] --> NONE\n"
    for (kind, after), names in sorted(_arrows().items()):
        for name in names:
            yield f"    {kind.name} --> {after.name}: {name}\n"
    yield "```\n"


def _arrows() -> dict[tuple[Kind, Kind], list[str]]:
    """The actions that change an edge from one kind to another, in any state of the other edge:
    {(kind before, kind after): names of actions}."""
    arrows: dict[tuple[Kind, Kind], dict[str, None]] = {}
    for (name, (rule, protected)), kind, reverse_kind in product(ACTIONS.items(), Kind, Kind):
        decision = _decided(rule, protected, kind, reverse_kind)
        for who, was, edge in (("A", kind, decision.edge), ("B", reverse_kind, decision.reverse)):
            if edge.kind is not was:
                arrows.setdefault((was, edge.kind), {})[f"{who}, {name}"] = None
    return {ends: list(names) for ends, names in arrows.items()}


def _tables(actions: dict[str, tuple[Rule, bool]]) -> Iterator[str]:
    for name, (rule, protected) in actions.items():
        yield f"\n### {name}\n\n| | {' | '.join(kind.name for kind in Kind)} |\n"
        yield f"| --- |{' --- |' * len(Kind)}\n"
        for kind in Kind:
            cells = (_cell(_decided(rule, protected, kind, reverse_kind)) for reverse_kind in Kind)
            yield f"| **{kind.name}** | {' | '.join(cells)} |\n"


def _cell(decision: Decision) -> str:
    if not decision.steps:
        return f"`{decision.outcome.name}`"
    if decision.outcome in (Outcome.MUTED, Outcome.DISMISSED):
        return "flag set"
    return f"{decision.edge.kind.name}, {decision.reverse.kind.name}"


if __name__ == "__main__":
    print(page(), end="")
