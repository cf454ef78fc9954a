"""Switching accounts off and on, and deleting them: for services. Decides nothing."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, TypeVar, cast

import strawberry

from graph.account_state import AccountState
from graph.errors import BadInput
from resolvers import accounts
from schema import arguments
from schema.account import AccountRow, UserAccount
from schema.context import Info, scope_of
from schema.inputs import RepeatableInput
from schema.payload import AS_FRESH, CHANGED, CLIENT_MUTATION_ID, OUTCOME, USER_ERRORS
from schema.requests import idempotency_key
from schema.told import account_outcome_of, refusal_of
from schema.user_error import UserError

_FOR_SERVICES = "For services; others get `FORBIDDEN`."
_REJECTED = "Nothing was changed; `userErrors` gives the reason."


@strawberry.enum(description="The outcome of `deactivateAccount`.")
class DeactivateAccountOutcome(Enum):
    DEACTIVATED = strawberry.enum_value(
        "DEACTIVATED", description="The account is switched off now."
    )
    ALREADY_DEACTIVATED = strawberry.enum_value(
        "ALREADY_DEACTIVATED", description="It was already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `reactivateAccount`.")
class ReactivateAccountOutcome(Enum):
    REACTIVATED = strawberry.enum_value(
        "REACTIVATED", description="The account is here again, with all that it was."
    )
    ALREADY_ACTIVE = strawberry.enum_value(
        "ALREADY_ACTIVE", description="It was here; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.enum(description="The outcome of `deleteAccount`.")
class DeleteAccountOutcome(Enum):
    DELETED = strawberry.enum_value(
        "DELETED",
        description="Nobody sees the account any more, and its edges are being removed.",
    )
    ALREADY_DELETED = strawberry.enum_value(
        "ALREADY_DELETED", description="It was already; nothing was changed."
    )
    REJECTED = strawberry.enum_value("REJECTED", description=_REJECTED)


@strawberry.input
class AccountInput(RepeatableInput):
    """What all inputs have in common; no type of the API itself."""

    user_id: strawberry.ID = strawberry.field(description="The id of the user.")


@strawberry.input(description="Which account to switch off.")
class DeactivateAccountInput(AccountInput):
    pass


@strawberry.input(description="Which account to switch on again.")
class ReactivateAccountInput(AccountInput):
    pass


@strawberry.input(description="Which account to delete.")
class DeleteAccountInput(AccountInput):
    pass


@strawberry.type
class AccountPayload:
    """What all payloads have in common; no type of the API itself."""

    changed: bool = strawberry.field(description=CHANGED)
    account: UserAccount | None = strawberry.field(
        description="The account after this mutation. Null if the user id is invalid."
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    consistency_token: str | None = strawberry.field(default=None, description=AS_FRESH)
    client_mutation_id: str | None = strawberry.field(description=CLIENT_MUTATION_ID)


@strawberry.type(description="The result of `deactivateAccount`.")
class DeactivateAccountPayload(AccountPayload):
    outcome: DeactivateAccountOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `reactivateAccount`.")
class ReactivateAccountPayload(AccountPayload):
    outcome: ReactivateAccountOutcome = strawberry.field(description=OUTCOME)


@strawberry.type(description="The result of `deleteAccount`.")
class DeleteAccountPayload(AccountPayload):
    outcome: DeleteAccountOutcome = strawberry.field(description=OUTCOME)


_INPUT = strawberry.argument(description="Which account, and what to give back.")

P = TypeVar("P", bound=AccountPayload)


@strawberry.type
class AccountMutations:
    """A part of `Mutation`; no type of the API itself."""

    @strawberry.mutation(
        description="Switches an account off: until it is reactivated, nobody else sees it or any "
        f"of its edges, and it changes nothing. {_FOR_SERVICES}"
    )
    async def deactivate_account(
        self,
        info: Info,
        input: Annotated[DeactivateAccountInput, _INPUT],  # noqa: A002
    ) -> DeactivateAccountPayload | None:
        state, outcomes = AccountState.DEACTIVATED, DeactivateAccountOutcome
        return await _changed(info, input, state, DeactivateAccountPayload, outcomes)

    @strawberry.mutation(
        description="Switches an account on again: all of it is as it was, but for what others "
        f"have changed since. {_FOR_SERVICES}"
    )
    async def reactivate_account(
        self,
        info: Info,
        input: Annotated[ReactivateAccountInput, _INPUT],  # noqa: A002
    ) -> ReactivateAccountPayload | None:
        state, outcomes = AccountState.ACTIVE, ReactivateAccountOutcome
        return await _changed(info, input, state, ReactivateAccountPayload, outcomes)

    @strawberry.mutation(
        description="Deletes an account for good: nobody else sees it from now on, and the workers "
        f"remove every edge from it and towards it. {_FOR_SERVICES}"
    )
    async def delete_account(
        self,
        info: Info,
        input: Annotated[DeleteAccountInput, _INPUT],  # noqa: A002
    ) -> DeleteAccountPayload | None:
        state, outcomes = AccountState.DELETED, DeleteAccountOutcome
        return await _changed(info, input, state, DeleteAccountPayload, outcomes)


async def _changed(
    info: Info,
    given: AccountInput,
    state: AccountState,
    payload: Callable[..., P],
    outcomes: type[Enum],
) -> P:
    scope = scope_of(info)
    scope.must_be_service()
    told: dict[str, Any]
    try:
        user = arguments.user_id("userId", given.user_id)
        key = idempotency_key(given.idempotency_key)
    except BadInput as bad:
        told = {"account": None, **refusal_of(bad, outcomes)}
    else:
        result = await accounts.change_state(scope, user, state, key)
        account = cast("UserAccount", AccountRow(user, result.status))
        told = {"account": account, **await account_outcome_of(scope, result, outcomes)}
    return payload(client_mutation_id=arguments.given(given.client_mutation_id), **told)
