"""Groups of follows as a GraphQL type."""

import strawberry

from engine import Parents, batched, row_classes, weighed
from graph import follow_group
from graph.edge import UserId
from graph.errors import BadInput
from graph.follow_group import NO_GROUP, GroupId
from resolvers.follow_groups import member_counts
from schema.arguments import shortened
from schema.context import Info, scope_of
from schema.node import GROUP_PREFIX, Node, parsed_id
from schema.weights import QUERY


@strawberry.type(
    description="A group of users whom the viewer follows. Nobody else sees the group, its name or "
    "its members. `following(filter: {groupId})` of the viewer returns its members."
)
@row_classes(follow_group.FollowGroup)
class FollowGroup(Node):
    @batched(
        graphql_type=strawberry.ID,
        description="The id: `group:`, the viewer's user id and a number, separated by colons.",
        serialized=True,
    )
    def id(groups: Parents[follow_group.FollowGroup]) -> list[str]:
        return [group_text(group.owner, group.id) for group in groups]

    @batched(description="The name: 1 to 50 characters in one line.")
    def name(groups: Parents[follow_group.FollowGroup]) -> list[str]:
        return [group.name for group in groups]

    @batched(description="The place of the group among the viewer's groups. The first has 0.")
    def position(groups: Parents[follow_group.FollowGroup]) -> list[int]:
        return [group.position for group in groups]

    @batched(
        metadata=weighed(call=QUERY, row=100),
        description="The number of members that the viewer can page through. Costs one database "
        "query for all groups.",
    )
    async def member_count(groups: Parents[follow_group.FollowGroup], info: Info) -> list[int]:
        return await member_counts(scope_of(info), list(groups))


def group_text(owner: UserId, group: GroupId) -> str:
    """The id of a group in the API."""
    return f"{GROUP_PREFIX}:{owner}:{group}"


def group_id(argument: str, text: str, viewer: UserId) -> GroupId:
    """Return the group in `text`, or `NO_GROUP` if it is not the viewer's.

    Raises:
        BadInput: `text` is not the id of a group.
    """
    found = parsed_id(text)
    if found is None or found[0] != GROUP_PREFIX:
        raise BadInput(argument, f'must be the `id` of a follow group, got "{shortened(text)}".')
    owner, number = found[1]
    return GroupId(number) if owner == viewer else NO_GROUP
