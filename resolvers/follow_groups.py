"""Groups of follows: reading those of the viewer, and changing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from graph.edge import UserId
from graph.errors import BadInput
from graph.follow_group import CreateGroup, FollowGroup, GroupChange, GroupId, OrderGroups
from graph.page import Window
from graph.receipt import IdempotentRequest, Receipt
from graph.visibility import Access
from resolvers import result
from resolvers.audit import audited
from resolvers.idempotency import request_of, run_idempotently
from resolvers.pages import VisiblePages
from resolvers.scope import Scope

CREATE = "createFollowGroup"
RENAME = "renameFollowGroup"
REORDER = "reorderFollowGroups"
DELETE = "deleteFollowGroup"
ADD = "addToFollowGroup"
REMOVE = "removeFromFollowGroup"

MEMBERS_INCLUDED = 50
"""How many members of each group the static cost covers."""

MEMBER_COST = 2.0
"""The cost of a further member, in the unit of `schema.weights`: two probes of an index."""


GROUPS_INCLUDED = 2
"""How many groups of each relation the static cost covers."""

GROUP_COST = 1.0
"""The cost of a further group of a relation: an entry of an index and of the response."""


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """A filter of the viewer's following: the members of one group."""

    group: GroupId


@dataclass(frozen=True, slots=True)
class Result(result.Result):
    """The result of a change of groups, and the viewer's groups after it."""

    groups: Sequence[FollowGroup] = ()
    group: FollowGroup | None = None
    """The group that was changed, if it exists."""
    not_followed: tuple[UserId, ...] = ()
    """The users who were not added because the viewer does not follow them."""


async def viewers_groups(scope: Scope) -> Sequence[FollowGroup]:
    """The viewer's groups, in order."""
    return await scope.stores.own_data.follow_groups.get_many(scope.must_have_viewer())


async def member_counts(scope: Scope, groups: Sequence[FollowGroup]) -> list[int]:
    """The number of members of each of the viewer's groups: one statement."""
    ids = [group.id for group in groups]
    found = await _count_members(scope, ids)
    return [found[group] for group in ids]


async def members(scope: Scope, window: Window, group_filter: GroupFilter) -> VisiblePages:
    """A window of the members of one of the viewer's groups.

    Raises:
        BadInput: the viewer has no such group.
    """
    viewer = scope.must_have_viewer()
    page = await scope.stores.own_data.follow_groups.page(viewer, group_filter.group, window)
    if page is None:
        raise BadInput("filter.groupId", "is not the id of one of the viewer's groups.")
    return VisiblePages([Access.VISIBLE], [page], [None])


async def member_total(scope: Scope, group_filter: GroupFilter) -> int:
    """How many members of this group the viewer can page through."""
    return (await _count_members(scope, [group_filter.group]))[group_filter.group]


async def _count_members(scope: Scope, groups: Sequence[GroupId]) -> Mapping[GroupId, int]:
    """Count the members of the viewer's groups. Charge those of each group beyond
    `MEMBERS_INCLUDED`."""
    found = await scope.stores.own_data.follow_groups.counts(scope.must_have_viewer(), groups)
    charged_members = sum([max(0, members - MEMBERS_INCLUDED) for members in found.values()])
    if charged_members:
        scope.debit(ceil(charged_members * MEMBER_COST))
    return found


async def groups_of(
    scope: Scope, sources: Sequence[UserId], targets: Sequence[UserId]
) -> list[Sequence[GroupId] | None]:
    """The groups of each of `sources` that the user in the same place of `targets` is in; None
    unless the viewer is the source. All of them take one statement, and groups beyond
    `GROUPS_INCLUDED` for each relation are charged."""
    viewer = scope.viewer
    if viewer is None or viewer not in sources:
        return [None] * len(targets)
    # A set, because a response may show one relation many times.
    own = {target for source, target in zip(sources, targets, strict=True) if source == viewer}
    found = await scope.stores.own_data.follow_groups.groups_of(viewer, list(own))
    absent = await scope.absent()
    listed = [
        (() if target in absent else found.get(target, ())) if source == viewer else None
        for source, target in zip(sources, targets, strict=True)
    ]
    listed_groups = sum([len(groups) for groups in listed if groups])
    charged_groups = listed_groups - GROUPS_INCLUDED * len(listed)
    if charged_groups > 0:
        scope.debit(ceil(charged_groups * GROUP_COST))
    return listed


async def change_groups(
    scope: Scope, name: str, change: GroupChange, idempotency_key: str | None = None
) -> Result:
    """Change the viewer's groups. `name`: the name of the mutation.

    With a key that was used before, it returns the first outcome.

    Raises:
        Unauthenticated: the request has no viewer.
        Unavailable: PostgreSQL cannot be reached. The change may or may not be made; except for a
            creation without a key, repeating it is safe.
    """
    made = _change(scope, name, change, idempotency_key)
    return await audited(scope, name, None, made) if scope.is_service else await made


async def _change(
    scope: Scope, name: str, change: GroupChange, idempotency_key: str | None
) -> Result:
    viewer, policy = scope.must_have_viewer(), scope.policy
    request = request_of(viewer, idempotency_key, name, change)
    store = scope.stores.own_data.follow_groups
    saved = await run_idempotently(
        scope, request, lambda: store.change(viewer, change, policy.pace, policy.undo_s, request)
    )
    groups = await viewers_groups(scope)
    if isinstance(saved, Receipt):
        return Result(saved.outcome, groups, _changed_group(groups, change, None, request))
    return Result(
        saved.outcome,
        groups,
        _changed_group(groups, change, saved.created, request),
        saved.not_followed,
        limit=saved.limit,
        retry_at=saved.retry_at,
    )


def _changed_group(
    groups: Sequence[FollowGroup],
    change: GroupChange,
    created: GroupId | None,
    request: IdempotentRequest | None,
) -> FollowGroup | None:
    """The group that was changed."""
    if isinstance(change, OrderGroups):
        return None
    if isinstance(change, CreateGroup):
        if created is None and request is not None:  # the first request has created it
            made = [group.id for group in groups if group.request_id == request.id]
            created = max(made, default=None)
        wanted = created
    else:
        wanted = change.group
    return next((group for group in groups if group.id == wanted), None)
