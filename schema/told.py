"""What every payload of a change tells, from its result or from bad input. Decides nothing."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graph.errors import BadInput
from resolvers.result import Result
from schema.user_error import invalid_input, refusals

INPUT = ("input",)


def outcome_of(result: Result, outcomes: type[Enum], path: Sequence[str] = INPUT) -> dict[str, Any]:
    """What became of it; `path` is where its input stands."""
    errors = refusals(result, path)
    return {
        "outcome": outcomes["REFUSED" if errors else result.outcome.name],
        "changed": result.is_changed,
        "user_errors": errors,
    }


def refusal_of(bad: BadInput, outcomes: type[Enum], path: Sequence[str] = INPUT) -> dict[str, Any]:
    """That nothing was changed, and why."""
    return {
        "outcome": outcomes["REFUSED"],
        "changed": False,
        "user_errors": [invalid_input(bad, path)],
    }
