"""Changing what a user says about who may see them, and what a service allows them."""

from typing import Annotated, Any, cast

import strawberry
from strawberry import UNSET

from graph import visibility
from graph.account import PrivacyChange
from graph.errors import BadInput
from resolvers import settings
from schema import arguments
from schema.context import Info, scope_of
from schema.inputs import RepeatableInput
from schema.outcomes import SettingsOutcome
from schema.payload import AS_FRESH, CHANGED, CLIENT_MUTATION_ID, OUTCOME, USER_ERRORS
from schema.requests import idempotency_key
from schema.rows import ViewerRow
from schema.settings import ListAudience, RelationshipSettings
from schema.told import account_outcome_of, refusal_of
from schema.user import User
from schema.user_error import UserError
from schema.viewer import Viewer

_AS_IT_WAS = "If it is not given, it stays as it is."

LIMIT_MAX = 2**31 - 1


@strawberry.input(description="What the viewer says anew about who may see them.")
class UpdateRelationshipSettingsInput(RepeatableInput):
    protected: bool | None = strawberry.field(
        default=UNSET,
        description="Whether the viewer approves who follows them. Turned off, it accepts nobody: "
        f"who waits for approval goes on waiting. {_AS_IT_WAS}",
    )
    following_audience: ListAudience | None = strawberry.field(
        default=UNSET, description=f"To whom `following` is open. {_AS_IT_WAS}"
    )
    followers_audience: ListAudience | None = strawberry.field(
        default=UNSET, description=f"To whom `followers` is open. {_AS_IT_WAS}"
    )


@strawberry.input(description="Whom to allow how many follows.")
class SetFollowingLimitInput(RepeatableInput):
    user_id: strawberry.ID = strawberry.field(description="The id of the user.")
    limit: int | None = strawberry.field(
        default=UNSET,
        description="How many users they may follow, from 0; null, or left out, for as many as "
        "everybody. Who follows more already goes on following them.",
    )


@strawberry.type
class SettingsPayload:
    """What both payloads have in common; no type of the API itself."""

    outcome: SettingsOutcome = strawberry.field(description=OUTCOME)
    changed: bool = strawberry.field(description=CHANGED)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    consistency_token: str | None = strawberry.field(default=None, description=AS_FRESH)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `updateRelationshipSettings`.")
class UpdateRelationshipSettingsPayload(SettingsPayload):
    settings: RelationshipSettings | None = strawberry.field(
        description="The viewer's settings after this mutation."
    )
    viewer: Viewer | None = strawberry.field(description="The user who made the request.")


@strawberry.type(description="The result of `setFollowingLimit`.")
class SetFollowingLimitPayload(SettingsPayload):
    user: User | None = strawberry.field(
        description="The user whose limit this is. Null if the input is invalid."
    )
    settings: RelationshipSettings | None = strawberry.field(
        description="The user's settings after this mutation. Null if the input is invalid."
    )


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
    ) -> UpdateRelationshipSettingsPayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        change = PrivacyChange(
            arguments.given(input.protected),
            _audience(input.following_audience),
            _audience(input.followers_audience),
        )
        try:
            key = idempotency_key(input.idempotency_key)
        except BadInput as bad:
            account = await settings.settings_of(scope, viewer)
            told = refusal_of(bad, SettingsOutcome)
        else:
            result = await settings.change_privacy(scope, change, key)
            account = result.account
            told = await account_outcome_of(scope, result, SettingsOutcome)
        return UpdateRelationshipSettingsPayload(
            settings=cast("RelationshipSettings", account),
            viewer=cast("Viewer", ViewerRow(viewer)),
            client_mutation_id=arguments.given(input.client_mutation_id),
            **told,
        )

    @strawberry.mutation(
        description="For services: how many users somebody may follow, instead of as many as "
        "everybody. Others get `FORBIDDEN`."
    )
    async def set_following_limit(
        self,
        info: Info,
        input: Annotated[SetFollowingLimitInput, _LIMIT],  # noqa: A002
    ) -> SetFollowingLimitPayload | None:
        scope = scope_of(info)
        scope.must_be_service()
        told: dict[str, Any]
        try:
            user = arguments.user_id("userId", input.user_id)
            limit = _limit(arguments.given(input.limit))
            key = idempotency_key(input.idempotency_key)
        except BadInput as bad:
            told = {"user": None, "settings": None, **refusal_of(bad, SettingsOutcome)}
        else:
            result = await settings.set_following_limit(scope, user, limit, key)
            told = await account_outcome_of(scope, result, SettingsOutcome)
            told |= {"user": user, "settings": result.account}
        return SetFollowingLimitPayload(
            client_mutation_id=arguments.given(input.client_mutation_id), **told
        )


def _limit(limit: int | None) -> int | None:
    if limit is not None and limit < 0:
        raise BadInput("limit", f"{limit} is out of range: use 0 to {LIMIT_MAX}.")
    return limit


def _audience(audience: ListAudience | None) -> visibility.Audience | None:
    # UNSET is false, and so is no audience.
    return visibility.Audience[audience.name] if audience else None
