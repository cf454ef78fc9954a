"""Changing what a user says about who may see them, and what a service allows them."""

from typing import Annotated, cast

import strawberry

from graph import visibility
from graph.account import PrivacyChange
from graph.errors import BadInput
from resolvers import settings
from schema import arguments
from schema.context import Info, scope_of
from schema.settings import Audience, RelationshipSettings
from schema.user import User
from schema.viewer import Viewer

_ECHO = "Anything; the payload gives it back."
_KEY = "Taken as everywhere. Setting the same twice is the same, so a repetition needs none."
_AS_IT_WAS = "If it is not given, it stays as it is."

LIMIT_MAX = 2**31 - 1


@strawberry.input(description="What the viewer says anew about who may see them.")
class UpdateRelationshipSettingsInput:
    protected: bool | None = strawberry.field(
        default=None,
        description="Whether the viewer approves who follows them. Turned off, it accepts nobody: "
        f"who waits for approval goes on waiting. {_AS_IT_WAS}",
    )
    following_audience: Audience | None = strawberry.field(
        default=None, description=f"To whom `following` is open. {_AS_IT_WAS}"
    )
    followers_audience: Audience | None = strawberry.field(
        default=None, description=f"To whom `followers` is open. {_AS_IT_WAS}"
    )
    idempotency_key: str | None = strawberry.field(default=None, description=_KEY)
    client_mutation_id: str | None = strawberry.field(default=None, description=_ECHO)


@strawberry.type(description="What became of an `updateRelationshipSettings`.")
class UpdateRelationshipSettingsPayload:
    settings: RelationshipSettings = strawberry.field(description="What holds now.")
    viewer: Viewer = strawberry.field(description="Who asked for it.")
    client_mutation_id: str | None = strawberry.field(description="What the input held.")


@strawberry.input(description="Whom to allow how many follows.")
class SetFollowingLimitInput:
    user_id: strawberry.ID = strawberry.field(description="The id of the user.")
    limit: int | None = strawberry.field(
        default=None,
        description="How many users they may follow, from 0; null, or left out, for as many as "
        "everybody. Who follows more already goes on following them.",
    )
    client_mutation_id: str | None = strawberry.field(default=None, description=_ECHO)


@strawberry.type(description="What became of a `setFollowingLimit`.")
class SetFollowingLimitPayload:
    user: User = strawberry.field(description="The user whom this was about.")
    settings: RelationshipSettings = strawberry.field(description="What holds for them now.")
    client_mutation_id: str | None = strawberry.field(description="What the input held.")


_SETTINGS = strawberry.argument(description="What to change, and what to give back.")
_LIMIT = strawberry.argument(description="Whom, how many, and what to give back.")


@strawberry.type
class SettingsMutations:
    """A part of `Mutation`; no type of the API itself."""

    @strawberry.mutation(
        description="The viewer says who may see them. It holds at once, everywhere."
    )
    async def update_relationship_settings(
        self,
        info: Info,
        input: Annotated[UpdateRelationshipSettingsInput, _SETTINGS],  # noqa: A002
    ) -> UpdateRelationshipSettingsPayload:
        scope = scope_of(info)
        change = PrivacyChange(
            input.protected,
            _audience(input.following_audience),
            _audience(input.followers_audience),
        )
        account = await settings.change_privacy(scope, change)
        return UpdateRelationshipSettingsPayload(
            settings=cast("RelationshipSettings", account),
            viewer=cast("Viewer", scope.must_have_viewer()),
            client_mutation_id=input.client_mutation_id,
        )

    @strawberry.mutation(
        description="For services: how many users somebody may follow, instead of as many as "
        "everybody. Others get `FORBIDDEN`."
    )
    async def set_following_limit(
        self,
        info: Info,
        input: Annotated[SetFollowingLimitInput, _LIMIT],  # noqa: A002
    ) -> SetFollowingLimitPayload:
        scope = scope_of(info)
        scope.must_be_service()
        user = arguments.user_id("userId", input.user_id)
        if input.limit is not None and input.limit < 0:
            raise BadInput("limit", f"{input.limit} is out of range: use 0 to {LIMIT_MAX}.")
        account = await settings.set_following_limit(scope, user, input.limit)
        return SetFollowingLimitPayload(
            user=cast("User", user),
            settings=cast("RelationshipSettings", account),
            client_mutation_id=input.client_mutation_id,
        )


def _audience(audience: Audience | None) -> visibility.Audience | None:
    return None if audience is None else visibility.Audience[audience.name]
