"""Compare the responses of the service with those that the model allows."""

from base64 import b64decode
from datetime import datetime
from struct import unpack
from typing import Any

from graph.decision_types import Decision
from graph.edge import FOLLOWS, Edge, Flags, Kind
from graph.outcome import CHANGES, REJECTIONS, Outcome
from graph.visibility import Access
from tests.support.lagging_model import Entry, Onlooker, State, check_list, check_total, date_of

OLDEST_FIRST = {
    "closeFollows": "oldestCloseFollows",
    "blockedUsers": "oldestBlocked",
    "mutedUsers": "oldestMuted",
}

FIELD_BITS = {
    "following": 1 << 0,
    "followedBy": 1 << 1,
    "whispering": 1 << 3,
    "requested": 1 << 4,
    "requestedBy": 1 << 5,
    "blocking": 1 << 6,
    "muted": 1 << 7,
    "closeFollow": 1 << 8,
    "notify": 1 << 10,
}
STATE_BITS = {"FRIENDS": 1 << 2, "SELF": 1 << 9}
"""The bits of a relation mask by field and by state, independent of `graph.relation_mask`."""


def check_outcome(payload: Any, decision: Decision) -> None:
    """The payload has the outcome of the decision; if that is a rejection, as a user error."""
    check_payload(payload, decision.outcome)


def check_payload(payload: Any, outcome: Outcome) -> None:
    """The payload has this outcome; if that is a rejection, as a user error."""
    rejected = outcome in REJECTIONS
    assert payload["outcome"] == ("REJECTED" if rejected else outcome.name)
    assert payload["changed"] == (outcome in CHANGES)
    codes = [error["code"] for error in payload["userErrors"]]
    assert codes == ([outcome.name] if rejected else [])


def check_rejected(payload: Any, code: str) -> None:
    assert payload["outcome"] == "REJECTED"
    assert [error["code"] for error in payload["userErrors"]] == [code]


def compare_list(onlooker: Onlooker, kind: str, user: int, page: Any, total: int | None) -> None:
    assert Access[page["access"]] in onlooker.accesses(kind, user)
    if page["access"] != "VISIBLE":
        assert (page["edges"], page["totalCount"], total) == ([], 0, None)
        return
    assert total is not None
    possible = onlooker.entries(kind, user)
    check_list(entries_of(page), possible)
    if len(onlooker.possibly_blocked_users(user)) == 0:
        assert page["totalCount"] == total
    elif onlooker.has_no_pending_changes(user):
        check_total(
            total,
            onlooker.entries_despite_blocks(kind, user).values(),
            onlooker.uncertain_count(),
        )
    total = page["totalCount"]
    if kind != "friends" or onlooker.has_no_pending_changes(user):
        check_total(total, possible.values(), onlooker.total_error_max(kind, user))
    else:
        # The sum of two counters. While one lags, it may be wrong by the pending changes.
        assert total >= 0


def compare_unavailable(onlooker: Onlooker, kind: str, user: int, unavailable: int | None) -> None:
    if user != onlooker.viewer:
        assert unavailable is None
        return
    assert unavailable is not None
    if kind != "friends" or onlooker.has_no_pending_changes(user):
        possible = onlooker.absent_entries(kind, user)
        check_total(unavailable, possible.values(), onlooker.total_error_max(kind, user))


def compare_new_followers(onlooker: Onlooker, user: int, shown: Any) -> None:
    edges = shown["followers"]["edges"]
    if user != onlooker.viewer:
        assert shown["newFollowersCount"] is None
        assert all(edge["isNew"] is None for edge in edges)
        return
    seen = onlooker.model.seen[user]
    for edge, (since, _) in zip(edges, entries_of(shown["followers"]), strict=True):
        assert edge["isNew"] == (since > seen)
    check_total(shown["newFollowersCount"], onlooker.new_followers(user).values())


def compare_known(onlooker: Onlooker, user: int, page: Any) -> None:
    assert Access[page["access"]] in onlooker.accesses("followers", user)
    entries = entries_of(page)
    assert page["totalCount"] == len(entries)
    if page["access"] == "VISIBLE":
        check_list(entries, onlooker.known_followers(user))
    else:
        assert not entries


def compare_own_lists(onlooker: Onlooker, shown: Any) -> None:
    viewer = onlooker.viewer
    assert viewer
    check_total(shown["newFollowersCount"], onlooker.new_followers(viewer).values())
    pinned = [int(user["id"]) for user in shown["pinnedFollowing"]]
    assert pinned == onlooker.model.shown_pins(viewer)
    lists = {
        "closeFollows": onlooker.own_edges_to_present(
            lambda edge: edge.kind in FOLLOWS and Flags.CLOSE_FOLLOW in edge.flags
        ),
        "blockedUsers": onlooker.own_edges_to_all(lambda edge: edge.kind is Kind.BLOCK),
        "mutedUsers": onlooker.own_edges_to_all(lambda edge: Flags.MUTED in edge.flags),
        "outgoingFollowRequests": onlooker.own_edges_to_present(
            lambda edge: edge.kind is Kind.REQUEST
        ),
        "incomingFollowRequests": onlooker.incoming_requests(),
    }
    for name, possible in lists.items():
        page = shown[name]
        check_total(page["totalCount"], possible.values(), onlooker.uncertain_count())
        if name == "mutedUsers":  # which has no dates, but is in their order
            muted = [int(edge["node"]["id"]) for edge in page["edges"]]
            dates = {user: date for user, states in possible.items() for date in states if date}
            check_list([(dates[user], user) for user in muted], possible)
        else:
            check_list(entries_of(page), possible)
    for name, reversed_name in OLDEST_FIRST.items():
        newest = [edge["node"] for edge in shown[name]["edges"]]
        assert shown[reversed_name]["nodes"] == newest[::-1]


def compare_relation(
    onlooker: Onlooker, user: int, other: int, shown: Any, *, is_other_shown: bool = False
) -> None:
    assert (shown["from"]["id"], shown["to"]["id"]) == (str(user), str(other))
    result = {name: value for name, value in shown.items() if name not in ("from", "to")}
    if user == other:
        assert result.pop("state") == "SELF"
        assert result.pop("notify") == "NONE"
        assert not any(result.values())
        return
    assert result.pop("note") == onlooker.note(user, other)
    possible = onlooker.relation(user, other, is_other_shown=is_other_shown)
    expected = [fields_of(edge, reverse) for edge, reverse in possible]
    assert result in expected, (user, other, result, expected)


def fields_of(edge: Edge, reverse: Edge) -> dict[str, Any]:
    """The fields of a relation for a viewer who sees both of its edges."""
    since, reverse_since = followed_at(edge), followed_at(reverse)
    friends = edge.kind is reverse.kind is Kind.FOLLOW
    asks, asked = edge.kind is Kind.REQUEST, reverse.kind is Kind.REQUEST
    return {
        "state": (
            "FRIENDS"
            if friends
            else "FOLLOWING"
            if since
            else "FOLLOWED_BY"
            if reverse_since
            else "NONE"
        ),
        "following": since is not None,
        "followedBy": reverse_since is not None,
        "followedAt": text(since),
        "followedByAt": text(reverse_since),
        "friendsSince": text(max(since, reverse_since))
        if friends and since and reverse_since
        else None,
        "requestedAt": text(date_of(edge) if asks else None),
        "requestedByAt": text(date_of(reverse) if asked else None),
        "blockedAt": text(date_of(edge) if edge.kind is Kind.BLOCK else None),
        "mutedUntil": None,  # no mute here has an end
        "whispering": edge.kind is Kind.WHISPER,
        "requested": asks,
        "requestedBy": asked,
        "blocking": edge.kind is Kind.BLOCK,
        "muted": Flags.MUTED in edge.flags,
        "closeFollow": edge.kind in FOLLOWS and Flags.CLOSE_FOLLOW in edge.flags,
        "notify": "ALL" if edge.kind in FOLLOWS and Flags.NOTIFY in edge.flags else "NONE",
    }


def mask_of(relation: Any) -> int:
    """The mask with the contents of a relation object."""
    bits = sum(bit for name, bit in FIELD_BITS.items() if relation[name] not in (False, "NONE"))
    return bits | STATE_BITS.get(relation["state"], 0)


def masks_of(mask: str) -> list[int]:
    numbers = b64decode(mask)
    return list(unpack(f"<{len(numbers) // 2}H", numbers))


def entries_of(page: Any) -> list[Entry]:
    return [(datetime.fromisoformat(e["since"]), user_in(e["node"])) for e in page["edges"]]


def user_in(node: Any) -> int:
    """The user of an entry, or at the other end of a request."""
    (end,) = node.values()
    return int(end) if isinstance(end, str) else user_in(end)


def followed_at(edge: Edge) -> State:
    return date_of(edge) if edge.kind in FOLLOWS else None


def moment(text: str | None) -> State:
    return None if text is None else datetime.fromisoformat(text)


def text(moment: State) -> str | None:
    return None if moment is None else moment.isoformat()
