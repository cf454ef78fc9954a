"""The fields that the payloads of all mutations share, from a result or from invalid input."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graph.errors import BadInput
from resolvers.result import Result
from resolvers.scope import Scope
from schema.freshness import token_of_accounts
from schema.user_error import invalid_input, rejections

INPUT = ("input",)


def result_fields(
    result: Result, outcomes: type[Enum], path: Sequence[str] = INPUT
) -> dict[str, Any]:
    """Return the fields of a result. `path` is the path of its input."""
    errors = rejections(result, path)
    return {
        "outcome": outcomes["REJECTED" if errors else result.outcome.name],
        "changed": result.is_changed,
        "user_errors": errors,
    }


async def account_result_fields(
    scope: Scope, result: Result, outcomes: type[Enum]
) -> dict[str, Any]:
    """Return the fields of a result about an account, with the consistency token."""
    fields = result_fields(result, outcomes)
    token = None if fields["user_errors"] else await token_of_accounts(scope)
    return {**fields, "consistency_token": token}


def rejection_fields(
    bad: BadInput, outcomes: type[Enum], path: Sequence[str] = INPUT
) -> dict[str, Any]:
    """Return the fields of a mutation that was rejected because of invalid input."""
    return {
        "outcome": outcomes["REJECTED"],
        "changed": False,
        "user_errors": [invalid_input(bad, path)],
    }
