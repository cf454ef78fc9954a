"""Switching accounts off and on, and deleting them: for services. Decides nothing."""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, TypeVar, cast

import strawberry
from strawberry import UNSET

from graph.account_state import STATE_CHANGES, AccountState, StateOutcome
from graph.errors import BadInput
from resolvers import accounts
from schema import arguments
from schema.account import Account, AccountRow
from schema.changing import INPUT
from schema.context import Info, scope_of
from schema.freshness import token_of_accounts
from schema.payload import AS_FRESH
from schema.user_error import UserError, account_deleted, invalid_input

_FOR_SERVICES = "For services; others get `FORBIDDEN`."
_REFUSED = "Nothing was changed; `userErrors` says why."
_KEY = "Taken as everywhere. Doing the same twice is the same, so a repetition needs none."


@strawberry.enum(description="What became of a `deactivateAccount`.")
class DeactivateAccountOutcome(Enum):
    DEACTIVATED = strawberry.enum_value(
        "DEACTIVATED", description="The account is switched off now."
    )
    ALREADY_DEACTIVATED = strawberry.enum_value(
        "ALREADY_DEACTIVATED", description="It was already; nothing was changed."
    )
    REFUSED = strawberry.enum_value("REFUSED", description=_REFUSED)


@strawberry.enum(description="What became of a `reactivateAccount`.")
class ReactivateAccountOutcome(Enum):
    REACTIVATED = strawberry.enum_value(
        "REACTIVATED", description="The account is here again, with all that it was."
    )
    ALREADY_ACTIVE = strawberry.enum_value(
        "ALREADY_ACTIVE", description="It was here; nothing was changed."
    )
    REFUSED = strawberry.enum_value("REFUSED", description=_REFUSED)


@strawberry.enum(description="What became of a `deleteAccount`.")
class DeleteAccountOutcome(Enum):
    DELETED = strawberry.enum_value(
        "DELETED",
        description="Nobody sees the account any more, and its edges are being removed.",
    )
    ALREADY_DELETED = strawberry.enum_value(
        "ALREADY_DELETED", description="It was already; nothing was changed."
    )
    REFUSED = strawberry.enum_value("REFUSED", description=_REFUSED)


@strawberry.input
class AccountInput:
    """What all inputs have in common; no type of the API itself."""

    user_id: strawberry.ID = strawberry.field(description="The id of the user.")
    idempotency_key: str | None = strawberry.field(default=UNSET, description=_KEY)
    client_mutation_id: str | None = strawberry.field(
        default=UNSET, description="Anything; the payload gives it back."
    )


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

    changed: bool = strawberry.field(description="Whether anything is different now.")
    account: Account | None = strawberry.field(
        description="Where the account is now; null if it is not known which one is meant."
    )
    user_errors: list[UserError] = strawberry.field(
        description="Why nothing was changed; empty if it is as was asked for."
    )
    consistency_token: str | None = strawberry.field(default=None, description=AS_FRESH)
    client_mutation_id: str | None = strawberry.field(description="What the input held.")


@strawberry.type(description="What became of a `deactivateAccount`.")
class DeactivateAccountPayload(AccountPayload):
    outcome: DeactivateAccountOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `reactivateAccount`.")
class ReactivateAccountPayload(AccountPayload):
    outcome: ReactivateAccountOutcome = strawberry.field(description="What became of it.")


@strawberry.type(description="What became of a `deleteAccount`.")
class DeleteAccountPayload(AccountPayload):
    outcome: DeleteAccountOutcome = strawberry.field(description="What became of it.")


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
    ) -> DeactivateAccountPayload:
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
    ) -> ReactivateAccountPayload:
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
    ) -> DeleteAccountPayload:
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
    told: dict[str, Any] = {"changed": False, "account": None, "outcome": outcomes["REFUSED"]}
    errors = []
    try:
        user = arguments.user_id("userId", given.user_id)
    except BadInput as bad:
        errors = [invalid_input(bad, INPUT)]
    else:
        outcome = await accounts.change_state(scope, user, state)
        (status,) = await accounts.statuses(scope, [user])
        told["account"] = cast("Account", AccountRow(user, status))
        told["changed"] = outcome in STATE_CHANGES
        if outcome is StateOutcome.ACCOUNT_DELETED:
            errors = [account_deleted(INPUT)]
        else:
            told["outcome"] = outcomes[outcome.name]
            told["consistency_token"] = await token_of_accounts(scope)
    return payload(
        user_errors=errors, client_mutation_id=arguments.given(given.client_mutation_id), **told
    )
