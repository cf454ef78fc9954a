"""Check that the fields of a relation, its state, its dates and its mask agree."""

from typing import Any

from graph.relation_mask import RelationBits

RELATION = """fragment relation on Relation {
  from { id } to { id } state following followedBy whispering requested requestedBy blocking muted
  closeFollow notify followedAt followedByAt requestedAt requestedByAt blockedAt mutedUntil
  friendsSince
}"""

_FLAGS = {
    "following": RelationBits.FOLLOWING,
    "followedBy": RelationBits.FOLLOWED_BY,
    "whispering": RelationBits.WHISPERING,
    "requested": RelationBits.REQUESTED,
    "requestedBy": RelationBits.REQUESTED_BY,
    "blocking": RelationBits.BLOCKING,
    "muted": RelationBits.MUTED,
    "closeFollow": RelationBits.CLOSE_FOLLOW,
    "notify": RelationBits.NOTIFY,
}
_DATES = {
    "followedAt": "following",
    "followedByAt": "followedBy",
    "requestedAt": "requested",
    "requestedByAt": "requestedBy",
    "blockedAt": "blocking",
    "friendsSince": "friends",
}


def true_fields_of(relation: Any, mask: int | None = None) -> set[str]:
    """The true fields of a relation, with `notify` unless it is NONE. Asserts that the state, the
    dates and, if given, the `mask` agree with them."""
    true_fields = {name for name in _FLAGS if relation[name] not in (False, "NONE")}
    is_friends = {"following", "followedBy"} <= true_fields and relation["state"] == "FRIENDS"
    dated = true_fields | ({"friends"} if is_friends else set())
    for date, name in _DATES.items():
        assert (relation[date] is not None) == (name in dated)
    assert relation["mutedUntil"] is None or "muted" in true_fields
    assert relation["state"] == _state(true_fields, is_friends=is_friends)
    if mask is not None:
        expected = RelationBits.FRIENDS if is_friends else RelationBits(0)
        for name in true_fields:
            expected |= _FLAGS[name]
        assert mask == expected
    return true_fields


def _state(true_fields: set[str], *, is_friends: bool) -> str:
    if is_friends:
        return "FRIENDS"
    if "following" in true_fields:
        return "FOLLOWING"
    return "FOLLOWED_BY" if "followedBy" in true_fields else "NONE"
