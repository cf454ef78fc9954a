"""The mutation that pins followed users."""

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import enum_value

import resolvers.result
from engine import length_of, weighed
from graph.edge import UserId
from graph.errors import BadInput
from graph.outcome import Outcome
from graph.pinned_following import PINNED_MAX
from resolvers.pinned_following import set_pinned_following
from schema import arguments
from schema.context import Info, scope_of
from schema.mutations.payload import OUTCOME, REJECTED, OwnPayload, RepeatableInput, own_payload


@strawberry.enum(description="The outcome of `setPinnedFollowing`.")
class SetPinnedFollowingOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="The pinned users were replaced.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="These users are pinned already, in this order. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input(description="Input of `setPinnedFollowing`.")
class SetPinnedFollowingInput(RepeatableInput):
    user_ids: list[strawberry.ID] = strawberry.field(
        description="The ids of up to 10 different users whom the viewer follows, in the order in "
        "which they are shown. An empty list unpins all."
    )


@strawberry.type(description="The result of `setPinnedFollowing`.")
class SetPinnedFollowingPayload(OwnPayload):
    outcome: SetPinnedFollowingOutcome = strawberry.field(description=OUTCOME)


_INPUT = strawberry.argument(description="The users to pin, and options.")


@strawberry.type
class PinnedFollowingMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        metadata=weighed(page=length_of("input.userIds", maximum=PINNED_MAX), entry=100),
        description="Replaces the users whom the viewer has pinned among those they follow: see "
        "`Viewer.pinnedFollowing`. Only the viewer can read them. Cannot be undone.",
    )
    async def set_pinned_following(
        self, info: Info, input: Annotated[SetPinnedFollowingInput, _INPUT]
    ) -> SetPinnedFollowingPayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        try:
            users = _distinct(arguments.user_ids("userIds", input.user_ids, PINNED_MAX))
            key = input.key
        except BadInput as bad:
            result = resolvers.result.Result(Outcome.INVALID_INPUT, invalid=bad)
        else:
            result = await set_pinned_following(scope, users, key)
        types = SetPinnedFollowingPayload, SetPinnedFollowingOutcome
        return own_payload(*types, viewer, result, input.echo)


def _distinct(users: Sequence[UserId]) -> Sequence[UserId]:
    for place, user in enumerate(users):
        if user in users[:place]:
            raise BadInput(f"userIds.{place}", f"must not repeat a user, got {user} again.")
    return users
