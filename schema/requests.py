"""Converts inputs into actions. Invalid input is an error, never cut."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from graph.edge import Kind, Millis
from graph.errors import BadInput
from resolvers import actions
from resolvers.actions import Action
from resolvers.scope import Limits
from schema import arguments
from schema.inputs import FollowVisibility, RelationshipAction

MESSAGE_CHARS_MAX = 500
KEY_CHARS_MAX = 64

KINDS = {FollowVisibility.PUBLIC: Kind.FOLLOW, FollowVisibility.WHISPER: Kind.WHISPER}


def action_of(action: RelationshipAction, limits: Limits, given: Any) -> Action:
    """Return the action with its fields of the input of a mutation or of `changeRelationships`.

    Raises:
        BadInput: a field is invalid.
    """
    return _ACTIONS[action](limits, given)


def idempotency_key(key: str | None) -> str | None:
    """Return `key`.

    Raises:
        BadInput: it is empty or too long.
    """
    if key == "":
        raise BadInput("idempotencyKey", f"must have 1 to {KEY_CHARS_MAX} characters, got 0.")
    return _text("idempotencyKey", key, KEY_CHARS_MAX) if key else None


def _follow(limits: Limits, given: Any) -> Action:
    message = _text("message", given.message, MESSAGE_CHARS_MAX) if given.message else None
    kind = _kind(limits, given.visibility) or Kind.FOLLOW
    return actions.follow(limits, kind, close_follow=bool(given.close_follow), message=message)


def _update_follow(limits: Limits, given: Any) -> Action:
    kind = _kind(limits, given.visibility)
    return actions.update_follow(kind, arguments.given(given.close_follow))


def _kind(limits: Limits, visibility: Any) -> Kind | None:
    if visibility is FollowVisibility.WHISPER and limits.mutual_approval:
        raise BadInput("visibility", "must not be WHISPER: all follows are mutual and public here.")
    return KINDS.get(visibility)


def _mute(_: Limits, given: Any) -> Action:
    return actions.mute(_end(arguments.given(given.until)))


def _end(until: datetime | None) -> Millis | None:
    if until is None:
        return None
    if arguments.zoned("until", until).timestamp() <= time.time():
        raise BadInput("until", "must be in the future.")
    if until > _LAST:
        raise BadInput("until", "must be before the year 10000 in UTC.")
    return arguments.moment("until", until)


_LAST = datetime.max.replace(microsecond=999_000, tzinfo=UTC)
"""The latest date that `datetime` can represent in whole milliseconds, as dates are stored."""


def _text(argument: str, text: str, most: int) -> str:
    if len(text) > most:
        raise BadInput(argument, f"must have at most {most} characters, got {len(text)}.")
    if "\0" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise BadInput(argument, "must not contain null characters or surrogates.")
    return text


_ACTIONS: Mapping[RelationshipAction, Callable[[Limits, Any], Action]] = {
    RelationshipAction.FOLLOW: _follow,
    RelationshipAction.UNFOLLOW: lambda limits, _: actions.unfollow(limits),
    RelationshipAction.UPDATE_FOLLOW: _update_follow,
    RelationshipAction.REMOVE_FOLLOWER: lambda limits, _: actions.remove_follower(limits),
    RelationshipAction.BLOCK: lambda limits, _: actions.block(limits),
    RelationshipAction.UNBLOCK: lambda _, __: actions.unblock(),
    RelationshipAction.MUTE: _mute,
    RelationshipAction.UNMUTE: lambda _, __: actions.unmute(),
    RelationshipAction.ACCEPT_REQUEST: lambda limits, _: actions.accept_request(limits),
    RelationshipAction.DECLINE_REQUEST: lambda _, __: actions.decline_request(),
    RelationshipAction.CANCEL_REQUEST: lambda _, __: actions.cancel_request(),
    RelationshipAction.DISMISS_SUGGESTION: lambda _, __: actions.dismiss(),
}
