"""The mutations that change a user's settings."""

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
from schema.payload import CHANGED, CLIENT_MUTATION_ID, CONSISTENCY, OUTCOME, USER_ERRORS
from schema.requests import idempotency_key
from schema.results import account_result_fields, rejection_fields
from schema.rows import ViewerRow
from schema.settings import ListAudience, RelationshipSettings, SettingsRow
from schema.user import User
from schema.user_error import UserError
from schema.viewer import Viewer

LIMIT_MAX = 2**31 - 1


@strawberry.input(
    description="Input of `updateRelationshipSettings`. Fields that are omitted or null keep their "
    "values."
)
class UpdateRelationshipSettingsInput(RepeatableInput):
    protected: bool | None = strawberry.field(
        default=UNSET,
        description="Whether the viewer approves their followers. Turning it off does not accept "
        "the pending requests.",
    )
    following_audience: ListAudience | None = strawberry.field(
        default=UNSET, description="Who can open the viewer's list `following`."
    )
    followers_audience: ListAudience | None = strawberry.field(
        default=UNSET, description="Who can open the viewer's list `followers`."
    )


@strawberry.input(description="Input of `setFollowingLimit`.")
class SetFollowingLimitInput(RepeatableInput):
    user_id: strawberry.ID = strawberry.field(description="The id of the user.")
    limit: int | None = strawberry.field(
        default=UNSET,
        description="The maximum number of users that the user can follow; 0 is allowed. If null "
        "or omitted, the default of the deployment applies. A lower limit ends no existing follow.",
    )


@strawberry.type
class SettingsPayload:
    """The fields of both payloads; not a type of the API."""

    outcome: SettingsOutcome = strawberry.field(description=OUTCOME)
    changed: bool = strawberry.field(description=CHANGED)
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    consistency_token: str | None = strawberry.field(default=None, description=CONSISTENCY)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `updateRelationshipSettings`.")
class UpdateRelationshipSettingsPayload(SettingsPayload):
    settings: RelationshipSettings | None = strawberry.field(
        description="The viewer's settings after this mutation. Null only beside an error."
    )
    viewer: Viewer | None = strawberry.field(
        description="The user who makes the request. Null only beside an error."
    )


@strawberry.type(description="The result of `setFollowingLimit`.")
class SetFollowingLimitPayload(SettingsPayload):
    user: User | None = strawberry.field(
        description="The user whose limit this is. Null if the input is invalid."
    )
    settings: RelationshipSettings | None = strawberry.field(
        description="The user's settings after this mutation. Null if the input is invalid."
    )


_SETTINGS = strawberry.argument(description="The settings to change, and options.")
_LIMIT = strawberry.argument(description="The user, the limit, and options.")


@strawberry.type
class SettingsMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Changes who can follow the viewer and who can see their lists. Takes effect "
        "immediately."
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
            fields = rejection_fields(bad, SettingsOutcome)
        else:
            result = await settings.change_privacy(scope, change, key)
            account = result.account
            fields = await account_result_fields(scope, result, SettingsOutcome)
        return UpdateRelationshipSettingsPayload(
            settings=cast("RelationshipSettings", SettingsRow(viewer, account)),
            viewer=cast("Viewer", ViewerRow(viewer)),
            client_mutation_id=arguments.given(input.client_mutation_id),
            **fields,
        )

    @strawberry.mutation(
        description="Sets how many users a user can follow. Only for services: other callers get "
        "the error `FORBIDDEN`."
    )
    async def set_following_limit(
        self,
        info: Info,
        input: Annotated[SetFollowingLimitInput, _LIMIT],  # noqa: A002
    ) -> SetFollowingLimitPayload | None:
        scope = scope_of(info)
        scope.must_be_service()
        fields: dict[str, Any]
        try:
            user = arguments.user_id("userId", input.user_id)
            limit = _limit(arguments.given(input.limit))
            key = idempotency_key(input.idempotency_key)
        except BadInput as bad:
            fields = {"user": None, "settings": None, **rejection_fields(bad, SettingsOutcome)}
        else:
            result = await settings.set_following_limit(scope, user, limit, key)
            fields = await account_result_fields(scope, result, SettingsOutcome)
            fields |= {"user": user, "settings": SettingsRow(user, result.account)}
        return SetFollowingLimitPayload(
            client_mutation_id=arguments.given(input.client_mutation_id), **fields
        )


def _limit(limit: int | None) -> int | None:
    if limit is not None and limit < 0:
        raise BadInput("limit", f"must be between 0 and {LIMIT_MAX}, got {limit}.")
    return limit


def _audience(audience: ListAudience | None) -> visibility.Audience | None:
    # UNSET is falsy; every audience is truthy.
    return visibility.Audience[audience.name] if audience else None
