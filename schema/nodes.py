"""Fetches objects of all types by their ids."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from engine import ItemOrError
from graph.edge import Pair, UserId, user_id_of
from graph.errors import BadInput
from graph.follow_group import FollowGroup, GroupId
from graph.suggestion import Suggestion
from resolvers import relations
from resolvers.follow_groups import viewers_groups
from resolvers.remaining_limits import RemainingLimits, limits_of
from resolvers.scope import Scope
from resolvers.suggestions import suggestions_among
from schema import arguments
from schema.follow_request import requests_of
from schema.node import (
    GROUP_PREFIX,
    LIMITS_PREFIX,
    RELATION_PREFIX,
    REQUEST_PREFIX,
    SETTINGS_PREFIX,
    SUGGESTION_PREFIX,
    VIEWER_PREFIX,
    parsed_id,
)
from schema.relationship_settings import SettingsRow, settings_rows
from schema.rows import RelationRow, RequestRow, UserRow, ViewerRow, relation_row

NodeRow: TypeAlias = (
    UserRow
    | RelationRow
    | RequestRow
    | FollowGroup
    | Suggestion
    | SettingsRow
    | RemainingLimits
    | ViewerRow
)
"""The row of an object of any type."""

IdNumbers: TypeAlias = Sequence[UserId]
"""The numbers in an object's id: ids of users, and of a group."""

FetchRows: TypeAlias = Callable[[Scope, Sequence[IdNumbers]], Awaitable[Sequence[NodeRow | None]]]
"""Fetches one row, or None, for each object of one prefix."""


async def nodes_of(
    scope: Scope, argument: str, ids: Sequence[str]
) -> list[ItemOrError[NodeRow | None]]:
    """Return one row for each id, in order: None if there is no such object or the viewer may not
    see it, and a BadInput if the text is not an id. Every user id is a user."""
    users_by_prefix: dict[str, dict[str, IdNumbers]] = {}
    for text in ids:
        if found := parsed_id(text):
            prefix, users = found
            users_by_prefix.setdefault(prefix, {})[text] = users
    rows: dict[str, NodeRow | None] = {}
    for prefix, objects in users_by_prefix.items():
        fetched = await _FETCHERS[prefix](scope, list(objects.values()))
        rows.update(zip(objects, fetched, strict=True))
    return [rows[text] if text in rows else _user_or_error(argument, text) for text in ids]


def _user_or_error(argument: str, text: str) -> ItemOrError[UserId]:
    if (user := user_id_of(text)) is not None:
        return user
    prefixes = ", ".join(f"`{prefix}:`" for prefix in _FETCHERS)
    return BadInput(
        argument,
        f"accepts only a user id (a decimal number), or a prefix ({prefixes}) followed by user ids "
        f'with colons between them, got "{arguments.shortened(text)}".',
    )


async def _relations(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    pairs = [Pair(*users) for users in objects]
    found = await relations.of_pairs(scope, pairs)
    return list(map(relation_row, pairs, found))


async def _requests(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    return await requests_of(scope, [Pair(*users) for users in objects])


async def _viewers(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    return [ViewerRow(user) if user == scope.viewer else None for (user,) in objects]


async def _suggestions(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    own = {user for viewer, user in objects if viewer == scope.viewer}
    found = await suggestions_among(scope, own) if own else {}
    return [found.get(user) if viewer == scope.viewer else None for viewer, user in objects]


async def _settings(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    visible = [user for (user,) in objects if scope.is_service or user == scope.viewer]
    rows = {row.user: row for row in await settings_rows(scope, visible)} if visible else {}
    return [rows.get(user) for (user,) in objects]


async def _limits(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    own = [user for (user,) in objects if user == scope.viewer]
    rows = {row.user: row for row in await limits_of(scope, own)} if own else {}
    return [rows.get(user) for (user,) in objects]


async def _groups(scope: Scope, objects: Sequence[IdNumbers]) -> Sequence[NodeRow | None]:
    own = any(owner == scope.viewer for owner, _ in objects)
    found = {(group.owner, group.id): group for group in await viewers_groups(scope)} if own else {}
    return [found.get((owner, GroupId(group))) for owner, group in objects]


_FETCHERS: Mapping[str, FetchRows] = {
    GROUP_PREFIX: _groups,
    LIMITS_PREFIX: _limits,
    RELATION_PREFIX: _relations,
    REQUEST_PREFIX: _requests,
    SETTINGS_PREFIX: _settings,
    SUGGESTION_PREFIX: _suggestions,
    VIEWER_PREFIX: _viewers,
}
