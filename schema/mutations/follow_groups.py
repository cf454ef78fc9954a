"""The mutations of groups of follows."""

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, TypeVar

import strawberry
from strawberry import enum_value

from engine import length_of, weighed
from graph import follow_group
from graph.edge import UserId
from graph.errors import BadInput
from graph.follow_group import (
    GROUPS_MAX,
    NAME_CHARS_MAX,
    AddMembers,
    CreateGroup,
    DeleteGroup,
    GroupChange,
    OrderGroups,
    RemoveMembers,
    RenameGroup,
)
from graph.outcome import Outcome
from resolvers import follow_groups
from resolvers.follow_groups import Result, change_groups
from resolvers.policy import Policy
from schema import arguments
from schema.context import Info, scope_of
from schema.follow_group import FollowGroup, group_id, group_text
from schema.mutations.payload import OUTCOME, REJECTED, OwnPayload, RepeatableInput, outcome_of
from schema.rows import ViewerRow
from schema.user_errors import user_errors
from schema.weights import WRITE

_GROUP_ID = "The `id` of the group."
_NAME = "The name: 1 to 50 characters in one line, without control characters."
_MEMBERS = weighed(call=WRITE, page=length_of("input.userIds", maximum=100), entry=10)


@strawberry.enum(description="The outcome of `createFollowGroup`.")
class CreateFollowGroupOutcome(Enum):
    CREATED = enum_value("CREATED", description="The group was created.")
    REJECTED = REJECTED


@strawberry.enum(
    description="The outcome of `renameFollowGroup`, `reorderFollowGroups`, `addToFollowGroup` or "
    "`removeFromFollowGroup`."
)
class UpdateFollowGroupOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="The group, its members or the order was changed.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="The change was already in effect. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.enum(description="The outcome of `deleteFollowGroup`.")
class DeleteFollowGroupOutcome(Enum):
    DELETED = enum_value("DELETED", description="The group was deleted.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="The viewer has no such group. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input
class GroupInput(RepeatableInput):
    """The fields of all inputs; not a type of the API."""

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        """Return the change that the viewer asks for. Raises BadInput."""
        raise NotImplementedError


@strawberry.input(description="Input of `createFollowGroup`.")
class CreateFollowGroupInput(GroupInput):
    name: str = strawberry.field(description=_NAME)

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        return CreateGroup(_name(self.name))


@strawberry.input(description="Input of `renameFollowGroup`.")
class RenameFollowGroupInput(GroupInput):
    group_id: strawberry.ID = strawberry.field(description=_GROUP_ID)
    name: str = strawberry.field(description=_NAME)

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        return RenameGroup(group_id("groupId", self.group_id, viewer), _name(self.name))


@strawberry.input(description="Input of `reorderFollowGroups`.")
class ReorderFollowGroupsInput(GroupInput):
    group_ids: list[strawberry.ID] = strawberry.field(
        description="The groups that come first, in this order: up to 100. The viewer's other "
        "groups follow in their present order. Groups that do not exist are ignored."
    )

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        ids = arguments.at_most("groupIds", self.group_ids, GROUPS_MAX)
        return OrderGroups(
            tuple(group_id(f"groupIds.{place}", text, viewer) for place, text in enumerate(ids))
        )


@strawberry.input(description="Input of `deleteFollowGroup`.")
class DeleteFollowGroupInput(GroupInput):
    group_id: strawberry.ID = strawberry.field(description=_GROUP_ID)

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        return DeleteGroup(group_id("groupId", self.group_id, viewer))


@strawberry.input(description="Input of `addToFollowGroup`.")
class AddToFollowGroupInput(GroupInput):
    group_id: strawberry.ID = strawberry.field(description=_GROUP_ID)
    user_ids: list[strawberry.ID] = strawberry.field(
        description="The ids of up to 100 users, all of whom the viewer follows."
    )

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        group = group_id("groupId", self.group_id, viewer)
        return AddMembers(group, _users(self.user_ids, policy))


@strawberry.input(description="Input of `removeFromFollowGroup`.")
class RemoveFromFollowGroupInput(GroupInput):
    group_id: strawberry.ID = strawberry.field(description=_GROUP_ID)
    user_ids: list[strawberry.ID] = strawberry.field(
        description="The ids of up to 100 users. Those who are not in the group are ignored."
    )

    def change(self, viewer: UserId, policy: Policy) -> GroupChange:
        group = group_id("groupId", self.group_id, viewer)
        return RemoveMembers(group, _users(self.user_ids, policy))


@strawberry.type
class GroupsPayload(OwnPayload):
    """The fields of all payloads; not a type of the API."""

    group: strawberry.Private[follow_group.FollowGroup | None]
    deleted_group_id: strawberry.Private[str | None]
    """Some types have fields in place of these."""


@strawberry.type
class GroupPayload(GroupsPayload):
    """The fields of the payloads with a group; not a type of the API."""

    group: follow_group.FollowGroup | None = strawberry.field(
        graphql_type=FollowGroup | None,
        description="The group after this mutation. Null if the viewer has no such group.",
    )


@strawberry.type(description="The result of `createFollowGroup`.")
class CreateFollowGroupPayload(GroupPayload):
    outcome: CreateFollowGroupOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `renameFollowGroup`.")
class RenameFollowGroupPayload(GroupPayload):
    outcome: UpdateFollowGroupOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `reorderFollowGroups`.")
class ReorderFollowGroupsPayload(GroupsPayload):
    outcome: UpdateFollowGroupOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `deleteFollowGroup`.")
class DeleteFollowGroupPayload(GroupsPayload):
    outcome: DeleteFollowGroupOutcome = strawberry.field(description=OUTCOME)
    deleted_group_id: str | None = strawberry.field(
        graphql_type=strawberry.ID | None,
        description="The `id` of the deleted group. Null if nothing was deleted.",
    )


@strawberry.type(description="The result of `addToFollowGroup`.")
class AddToFollowGroupPayload(GroupPayload):
    outcome: UpdateFollowGroupOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `removeFromFollowGroup`.")
class RemoveFromFollowGroupPayload(GroupPayload):
    outcome: UpdateFollowGroupOutcome = strawberry.field(description=OUTCOME)


PayloadT = TypeVar("PayloadT", bound=GroupsPayload)

_INPUT = strawberry.argument(description="The group, and options.")
_NEW_GROUP = strawberry.argument(description="The name of the group, and options.")
_ORDER = strawberry.argument(description="The groups, and options.")
_USERS = strawberry.argument(description="The group, the users, and options.")


@strawberry.type
class FollowGroupMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Creates a group of users whom the viewer follows, which only the viewer can "
        "see. It comes after the viewer's other groups, of which there can be 100. Without an "
        "idempotency key, a repeated request creates another group."
    )
    async def create_follow_group(
        self, info: Info, input: Annotated[CreateFollowGroupInput, _NEW_GROUP]
    ) -> CreateFollowGroupPayload | None:
        mutation = follow_groups.CREATE, CreateFollowGroupPayload, CreateFollowGroupOutcome
        return await _change(info, input, *mutation)

    @strawberry.mutation(description="Renames a group of the viewer's.")
    async def rename_follow_group(
        self, info: Info, input: Annotated[RenameFollowGroupInput, _INPUT]
    ) -> RenameFollowGroupPayload | None:
        mutation = follow_groups.RENAME, RenameFollowGroupPayload, UpdateFollowGroupOutcome
        return await _change(info, input, *mutation)

    @strawberry.mutation(
        description="Changes the order of the viewer's groups. `viewer` in the payload returns "
        "all of them."
    )
    async def reorder_follow_groups(
        self, info: Info, input: Annotated[ReorderFollowGroupsInput, _ORDER]
    ) -> ReorderFollowGroupsPayload | None:
        mutation = follow_groups.REORDER, ReorderFollowGroupsPayload, UpdateFollowGroupOutcome
        return await _change(info, input, *mutation)

    @strawberry.mutation(
        description="Deletes a group of the viewer's. The viewer still follows its members. Cannot "
        "be undone."
    )
    async def delete_follow_group(
        self, info: Info, input: Annotated[DeleteFollowGroupInput, _INPUT]
    ) -> DeleteFollowGroupPayload | None:
        mutation = follow_groups.DELETE, DeleteFollowGroupPayload, DeleteFollowGroupOutcome
        return await _change(info, input, *mutation)

    @strawberry.mutation(
        metadata=_MEMBERS,
        description="Adds users to a group of the viewer's: all of them or, if the viewer does not "
        "follow one of them, none. A user leaves the group when the viewer's follow ends, and is "
        "back in it if the follow is restored by an undo.",
    )
    async def add_to_follow_group(
        self, info: Info, input: Annotated[AddToFollowGroupInput, _USERS]
    ) -> AddToFollowGroupPayload | None:
        mutation = follow_groups.ADD, AddToFollowGroupPayload, UpdateFollowGroupOutcome
        return await _change(info, input, *mutation)

    @strawberry.mutation(
        metadata=_MEMBERS,
        description="Removes users from a group of the viewer's. The viewer still follows them.",
    )
    async def remove_from_follow_group(
        self, info: Info, input: Annotated[RemoveFromFollowGroupInput, _USERS]
    ) -> RemoveFromFollowGroupPayload | None:
        mutation = follow_groups.REMOVE, RemoveFromFollowGroupPayload, UpdateFollowGroupOutcome
        return await _change(info, input, *mutation)


async def _change(
    info: Info, given: GroupInput, name: str, payload: type[PayloadT], outcomes: type[Enum]
) -> PayloadT:
    """Make the change that the input asks for, and return the payload."""
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    deleted = None
    try:
        change = given.change(viewer, scope.policy)
        key = given.key
    except BadInput as bad:
        result = Result(Outcome.INVALID_INPUT, invalid=bad)
    else:
        result = await change_groups(scope, name, change, key)
        if isinstance(change, DeleteGroup) and result.outcome is Outcome.DELETED:
            deleted = group_text(viewer, change.group)
    return payload(
        outcome=outcome_of(result, outcomes),
        changed=result.is_changed,
        group=result.group,
        deleted_group_id=deleted,
        viewer=ViewerRow(viewer),
        user_errors=user_errors(result),
        client_mutation_id=given.echo,
    )


def _name(given: str) -> str:
    if not given.strip():
        raise BadInput("name", f"must have 1 to {NAME_CHARS_MAX} characters, and not only spaces.")
    return arguments.line("name", given, NAME_CHARS_MAX)


def _users(ids: Sequence[str], policy: Policy) -> tuple[UserId, ...]:
    return tuple(arguments.user_ids("userIds", ids, policy.users_max))
