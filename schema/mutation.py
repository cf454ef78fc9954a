"""Where writes begin: from an input to a use case, from its result to a payload."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import strawberry

from graph.edge import UserId
from graph.errors import BadInput
from graph.transitions import Outcome
from resolvers import follow
from resolvers.scope import Scope
from schema import arguments
from schema.context import Info, scope_of
from schema.interactions import InteractionMutations
from schema.payload import (
    FollowUserInput,
    FollowUserOutcome,
    FollowUserPayload,
    Payload,
    UnfollowUserInput,
    UnfollowUserOutcome,
    UnfollowUserPayload,
    UserError,
    UserErrorCode,
)

P = TypeVar("P", bound=Payload)

UseCase = Callable[[Scope, UserId], Awaitable[follow.Result]]

_INPUT = strawberry.argument(description="Whom, and what to give back.")


@strawberry.type(
    description="Everything that can be changed. All of it is safe to repeat, unless it says "
    "otherwise."
)
class Mutation(InteractionMutations):
    @strawberry.mutation(
        description="The viewer follows a user. The viewer sees it at once, everywhere."
    )
    async def follow_user(
        self,
        info: Info,
        input: Annotated[FollowUserInput, _INPUT],  # noqa: A002
    ) -> FollowUserPayload:
        return await _changed(info, input, follow.follow_user, FollowUserPayload, FollowUserOutcome)

    @strawberry.mutation(
        description="The viewer stops following a user. The viewer sees it at once, everywhere."
    )
    async def unfollow_user(
        self,
        info: Info,
        input: Annotated[UnfollowUserInput, _INPUT],  # noqa: A002
    ) -> UnfollowUserPayload:
        return await _changed(
            info, input, follow.unfollow_user, UnfollowUserPayload, UnfollowUserOutcome
        )


async def _changed(
    info: Info,
    given: FollowUserInput | UnfollowUserInput,
    use_case: UseCase,
    payload: Callable[..., P],
    outcomes: type[FollowUserOutcome] | type[UnfollowUserOutcome],
) -> P:
    scope = scope_of(info)
    viewer = scope.must_have_viewer()
    told: dict[str, Any] = {
        "viewer": viewer,
        "client_mutation_id": given.client_mutation_id,
    }
    try:
        target = arguments.user_id("userId", given.user_id)
    except BadInput as bad:
        error = _user_error(UserErrorCode.BAD_USER_ID, str(bad))
        refused = {"outcome": outcomes.REFUSED, "relation": None, "user": None}
        return payload(**refused, user_errors=[error], **told)
    result = await use_case(scope, target)
    errors = _refusals(result.outcome, scope)
    return payload(
        outcome=outcomes.REFUSED if errors else outcomes[result.outcome.name],
        relation=(viewer, target, *result.relation),
        user=target,
        user_errors=errors,
        **told,
    )


def _refusals(outcome: Outcome, scope: Scope) -> list[UserError]:
    match outcome:
        case Outcome.CANNOT_FOLLOW_SELF:
            return [_user_error(UserErrorCode.CANNOT_FOLLOW_SELF, "You cannot follow yourself.")]
        case Outcome.FOLLOWING_LIMIT_REACHED:
            message = f"You follow {scope.limits.following_max} users; nobody may follow more."
            return [_user_error(UserErrorCode.FOLLOWING_LIMIT_REACHED, message)]
        case _:
            return []


def _user_error(code: UserErrorCode, message: str) -> UserError:
    return UserError(code=code, message=message, field=["input", "userId"])
