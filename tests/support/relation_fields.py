"""Check that the fields of a relation, its state, its dates and its mask agree."""

from typing import Any

from graph.relation_mask import Mark

RELATION = """fragment relation on Relation {
  from { id } to { id } state following followedBy whispering requested requestedBy blocking muted
  closeFollow notify followedAt followedByAt requestedAt requestedByAt blockedAt mutedUntil
  friendsSince
}"""

_FLAGS = {
    "following": Mark.FOLLOWING,
    "followedBy": Mark.FOLLOWED_BY,
    "whispering": Mark.WHISPERING,
    "requested": Mark.REQUESTED,
    "requestedBy": Mark.REQUESTED_BY,
    "blocking": Mark.BLOCKING,
    "muted": Mark.MUTED,
    "closeFollow": Mark.CLOSE_FOLLOW,
    "notify": Mark.NOTIFY,
}
_DATES = {
    "followedAt": "following",
    "followedByAt": "followedBy",
    "requestedAt": "requested",
    "requestedByAt": "requestedBy",
    "blockedAt": "blocking",
    "friendsSince": "friends",
}


def said_of(relation: Any, mark: int | None = None) -> set[str]:
    """Which fields of a relation say yes; its state, its dates and its mask must say the same."""
    said = {name for name in _FLAGS if relation[name] not in (False, "NONE")}
    is_friends = {"following", "followedBy"} <= said and relation["state"] == "FRIENDS"
    dated = said | ({"friends"} if is_friends else set())
    for date, name in _DATES.items():
        assert (relation[date] is not None) == (name in dated)
    assert relation["mutedUntil"] is None or "muted" in said
    assert relation["state"] == _state(said, is_friends=is_friends)
    if mark is not None:
        expected = Mark.FRIENDS if is_friends else Mark(0)
        for name in said:
            expected |= _FLAGS[name]
        assert mark == expected
    return said


def _state(said: set[str], *, is_friends: bool) -> str:
    if is_friends:
        return "FRIENDS"
    if "following" in said:
        return "FOLLOWING"
    return "FOLLOWED_BY" if "followedBy" in said else "NONE"
