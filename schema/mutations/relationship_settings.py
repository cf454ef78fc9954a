"""The mutations that change a user's relationship settings."""

from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET, enum_value

import resolvers.result
from graph.account import PrivacyChange
from graph.edge import user_id_of
from graph.errors import BadInput
from graph.outcome import Outcome
from graph.privacy import Audience
from resolvers import relationship_settings
from resolvers.audit import require_service
from schema import arguments
from schema.context import Info, scope_of
from schema.freshness import token_of_accounts
from schema.mutations.payload import (
    CHANGED,
    CLIENT_MUTATION_ID,
    CONSISTENCY,
    OUTCOME,
    REJECTED,
    USER_ERRORS,
    VIEWER,
    WRITE_CONSISTENCY,
    RepeatableInput,
    WriteConsistency,
    outcome_of,
    write_consistency,
)
from schema.relationship_settings import ListAudience, RelationshipSettings, SettingsRow
from schema.rows import UserRow, ViewerRow
from schema.user import User
from schema.user_errors import UserError, user_errors
from schema.viewer import Viewer

LIMIT_MAX = 2**31 - 1


@strawberry.enum(description="The outcome of `updateRelationshipSettings` or `setFollowingLimit`.")
class SettingsOutcome(Enum):
    UPDATED = enum_value("UPDATED", description="The settings were changed.")
    UNCHANGED = enum_value(
        "UNCHANGED", description="The settings already have these values. Nothing changed."
    )
    REJECTED = REJECTED


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
    consistency_token: str | None = strawberry.field(description=CONSISTENCY)
    consistency: WriteConsistency | None = strawberry.field(description=WRITE_CONSISTENCY)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `updateRelationshipSettings`.")
class UpdateRelationshipSettingsPayload(SettingsPayload):
    settings: SettingsRow = strawberry.field(
        graphql_type=RelationshipSettings | None,
        description="The viewer's settings after this mutation. Null only beside an error.",
    )
    viewer: ViewerRow = strawberry.field(graphql_type=Viewer | None, description=VIEWER)


@strawberry.type(description="The result of `setFollowingLimit`.")
class SetFollowingLimitPayload(SettingsPayload):
    user: UserRow | None = strawberry.field(
        graphql_type=User | None,
        description="The user whose limit this is. Null if the input is invalid.",
    )
    settings: SettingsRow | None = strawberry.field(
        graphql_type=RelationshipSettings | None,
        description="The user's settings after this mutation. Null if the input is invalid.",
    )


_SETTINGS = strawberry.argument(description="The settings to change, and options.")
_LIMIT = strawberry.argument(description="The user, the limit, and options.")


@strawberry.type
class SettingsMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Changes who can follow the viewer and who can see their lists. If "
        "`consistency` is `IMMEDIATE`, the change takes effect immediately, except that a gateway "
        "can show the old settings of a frequently read user for a moment."
    )
    async def update_relationship_settings(
        self, info: Info, input: Annotated[UpdateRelationshipSettingsInput, _SETTINGS]
    ) -> UpdateRelationshipSettingsPayload | None:
        scope = scope_of(info)
        viewer = scope.must_have_viewer()
        change = PrivacyChange(
            arguments.given(input.protected),
            _audience(input.following_audience),
            _audience(input.followers_audience),
        )
        result: resolvers.result.Result
        try:
            key = input.key
        except BadInput as bad:
            result = resolvers.result.Result(Outcome.INVALID_INPUT, invalid=bad)
            account = await relationship_settings.settings_of(scope, viewer)
        else:
            result = saved = await relationship_settings.change_privacy(scope, change, key)
            account = saved.account
        errors = user_errors(result)
        return UpdateRelationshipSettingsPayload(
            outcome=outcome_of(result, SettingsOutcome),
            changed=result.is_changed,
            user_errors=errors,
            consistency_token=(
                None if errors else await token_of_accounts(scope, is_delayed=result.is_delayed)
            ),
            consistency=write_consistency([result]),
            client_mutation_id=input.echo,
            settings=SettingsRow(viewer, account),
            viewer=ViewerRow(viewer),
        )

    @strawberry.mutation(
        description="Sets how many users a user can follow. Only for services: other callers get "
        "the error `FORBIDDEN`."
    )
    async def set_following_limit(
        self, info: Info, input: Annotated[SetFollowingLimitInput, _LIMIT]
    ) -> SetFollowingLimitPayload | None:
        scope = scope_of(info)
        require_service(scope, "setFollowingLimit", user_id_of(input.user_id))
        result: resolvers.result.Result
        user = row = None
        try:
            asked = arguments.user_id("userId", input.user_id)
            limit = _limit(arguments.given(input.limit))
            key = input.key
        except BadInput as bad:
            result = resolvers.result.Result(Outcome.INVALID_INPUT, invalid=bad)
        else:
            user = asked
            result = saved = await relationship_settings.set_following_limit(
                scope, user, limit, key
            )
            row = SettingsRow(user, saved.account)
        errors = user_errors(result)
        return SetFollowingLimitPayload(
            outcome=outcome_of(result, SettingsOutcome),
            changed=result.is_changed,
            user_errors=errors,
            consistency_token=(
                None if errors else await token_of_accounts(scope, is_delayed=result.is_delayed)
            ),
            consistency=write_consistency([result]),
            client_mutation_id=input.echo,
            user=user,
            settings=row,
        )


def _limit(limit: int | None) -> int | None:
    if limit is not None and limit < 0:
        raise BadInput("limit", f"must be between 0 and {LIMIT_MAX}, got {limit}.")
    return limit


def _audience(audience: ListAudience | None) -> Audience | None:
    # UNSET is falsy; every audience is truthy.
    return Audience[audience.name] if audience else None
