"""What every payload of a change tells, from its result or from bad input. Decides nothing."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graph.errors import BadInput
from resolvers.result import Result
from resolvers.scope import Scope
from schema.freshness import token_of_accounts
from schema.user_error import invalid_input, refusals

INPUT = ("input",)


def outcome_of(result: Result, outcomes: type[Enum], path: Sequence[str] = INPUT) -> dict[str, Any]:
    """What became of it; `path` is where its input stands."""
    errors = refusals(result, path)
    return {
        "outcome": outcomes["REJECTED" if errors else result.outcome.name],
        "changed": result.is_changed,
        "user_errors": errors,
    }


async def account_outcome_of(scope: Scope, result: Result, outcomes: type[Enum]) -> dict[str, Any]:
    """The same of what was said of an account, with its token."""
    told = outcome_of(result, outcomes)
    token = None if told["user_errors"] else await token_of_accounts(scope)
    return {**told, "consistency_token": token}


def refusal_of(bad: BadInput, outcomes: type[Enum], path: Sequence[str] = INPUT) -> dict[str, Any]:
    """That nothing was changed, and why."""
    return {
        "outcome": outcomes["REJECTED"],
        "changed": False,
        "user_errors": [invalid_input(bad, path)],
    }
