"""The mutations that deactivate, reactivate and delete accounts, for services."""

from enum import Enum
from typing import Annotated, TypeVar

import strawberry
from strawberry import enum_value

import resolvers.result
from graph.account_state import AccountState
from graph.edge import user_id_of
from graph.errors import BadInput
from graph.outcome import Outcome
from resolvers import accounts
from resolvers.audit import require_service
from schema import arguments
from schema.account import AccountRow, UserAccount
from schema.context import Info, scope_of
from schema.freshness import token_of_accounts
from schema.mutations.payload import (
    CHANGED,
    CLIENT_MUTATION_ID,
    CONSISTENCY,
    OUTCOME,
    REJECTED,
    USER_ERRORS,
    WRITE_CONSISTENCY,
    RepeatableInput,
    WriteConsistency,
    outcome_of,
    write_consistency,
)
from schema.user_errors import UserError, user_errors

_FOR_SERVICES = "Only for services: other callers get the error `FORBIDDEN`."
_INPUT = strawberry.argument(description="The account, and options.")


@strawberry.enum(description="The outcome of `deactivateAccount`.")
class DeactivateAccountOutcome(Enum):
    DEACTIVATED = enum_value("DEACTIVATED", description="The account is now deactivated.")
    ALREADY_DEACTIVATED = enum_value(
        "ALREADY_DEACTIVATED", description="The account was already deactivated. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.enum(description="The outcome of `reactivateAccount`.")
class ReactivateAccountOutcome(Enum):
    REACTIVATED = enum_value("REACTIVATED", description="The account is active again.")
    ALREADY_ACTIVE = enum_value(
        "ALREADY_ACTIVE", description="The account was already active. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.enum(description="The outcome of `deleteAccount`.")
class DeleteAccountOutcome(Enum):
    DELETED = enum_value(
        "DELETED",
        description="The account is now deleted. Its relationships are being removed in the "
        "background.",
    )
    ALREADY_DELETED = enum_value(
        "ALREADY_DELETED", description="The account was already deleted. Nothing changed."
    )
    REJECTED = REJECTED


@strawberry.input
class AccountInput(RepeatableInput):
    """The fields of all inputs; not a type of the API."""

    user_id: strawberry.ID = strawberry.field(description="The id of the user.")


@strawberry.input(description="Input of `deactivateAccount`.")
class DeactivateAccountInput(AccountInput):
    pass


@strawberry.input(description="Input of `reactivateAccount`.")
class ReactivateAccountInput(AccountInput):
    pass


@strawberry.input(description="Input of `deleteAccount`.")
class DeleteAccountInput(AccountInput):
    pass


@strawberry.type
class AccountPayload:
    """The fields of all payloads; not a type of the API."""

    outcome: strawberry.Private[Enum]
    """Each type has a field with its own enum in place of this one."""

    changed: bool = strawberry.field(description=CHANGED)
    account: AccountRow | None = strawberry.field(
        graphql_type=UserAccount | None,
        description="The account after this mutation. Null if the input is invalid.",
    )
    user_errors: list[UserError] = strawberry.field(description=USER_ERRORS)
    consistency_token: str | None = strawberry.field(description=CONSISTENCY)
    consistency: WriteConsistency | None = strawberry.field(description=WRITE_CONSISTENCY)
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


@strawberry.type
class AccountMutations:
    """A part of `Mutation`; not a type of the API."""

    @strawberry.mutation(
        description="Deactivates an account: until it is reactivated, other users see neither it "
        f"nor its relationships, and it can make no changes. {_FOR_SERVICES}"
    )
    async def deactivate_account(
        self, info: Info, input: Annotated[DeactivateAccountInput, _INPUT]
    ) -> DeactivateAccountPayload | None:
        state, outcomes = AccountState.DEACTIVATED, DeactivateAccountOutcome
        return await _change_state(info, input, state, DeactivateAccountPayload, outcomes)

    @strawberry.mutation(
        description="Reactivates a deactivated account. Its relationships are as before, except "
        f"for changes that other users have made since. {_FOR_SERVICES}"
    )
    async def reactivate_account(
        self, info: Info, input: Annotated[ReactivateAccountInput, _INPUT]
    ) -> ReactivateAccountPayload | None:
        state, outcomes = AccountState.ACTIVE, ReactivateAccountOutcome
        return await _change_state(info, input, state, ReactivateAccountPayload, outcomes)

    @strawberry.mutation(
        description="Deletes an account permanently. Other users stop seeing it within half a "
        "second, unless `consistency` is `DELAYED`; its "
        f"relationships are removed in the background. {_FOR_SERVICES}"
    )
    async def delete_account(
        self, info: Info, input: Annotated[DeleteAccountInput, _INPUT]
    ) -> DeleteAccountPayload | None:
        state, outcomes = AccountState.DELETED, DeleteAccountOutcome
        return await _change_state(info, input, state, DeleteAccountPayload, outcomes)


PayloadT = TypeVar("PayloadT", bound=AccountPayload)


async def _change_state(
    info: Info,
    given: AccountInput,
    state: AccountState,
    payload: type[PayloadT],
    outcomes: type[Enum],
) -> PayloadT:
    """Set the state of the account in the input, and return the payload. Raises Forbidden if the
    caller is no service."""
    scope = scope_of(info)
    require_service(scope, accounts.change_action(state), user_id_of(given.user_id))
    result: resolvers.result.Result
    account = None
    try:
        user = arguments.user_id("userId", given.user_id)
        key = given.key
    except BadInput as bad:
        result = resolvers.result.Result(Outcome.INVALID_INPUT, invalid=bad)
    else:
        result = saved = await accounts.change_state(scope, user, state, key)
        account = AccountRow(user, saved.status)
    errors = user_errors(result)
    return payload(
        outcome=outcome_of(result, outcomes),
        changed=result.is_changed,
        account=account,
        user_errors=errors,
        consistency_token=(
            None if errors else await token_of_accounts(scope, is_delayed=result.is_delayed)
        ),
        consistency=write_consistency([result]),
        client_mutation_id=given.echo,
    )
