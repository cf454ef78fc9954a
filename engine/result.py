"""What comes of a request, and how far it got. Knows GraphQL's response, nothing of execution."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from graphql import GraphQLError


class Stage(StrEnum):
    """Where a request ended. All but EXECUTION are request errors: the response has no data."""

    PARSE = "parse"
    LIMITS = "limits"
    VALIDATION = "validation"
    OPERATION = "operation"
    VARIABLES = "variables"
    EXECUTION = "execution"


@dataclass(slots=True)  # not frozen, which would take twice as long to make
class Result:
    """The answer. Parts of `data` may be shared between answers: it is to be read, not changed."""

    stage: Stage
    data: dict[str, Any] | None = None
    errors: list[GraphQLError] = field(default_factory=list)
    rows: int = 0
    """Objects and list items in `data`, or made in vain; 0 when graphql-core ran the operation."""

    @property
    def is_request_error(self) -> bool:
        return self.stage is not Stage.EXECUTION

    def response(self) -> dict[str, Any]:
        """The response of the specification: no `data` after a request error, `errors` if any."""
        response: dict[str, Any] = {} if self.is_request_error else {"data": self.data}
        if self.errors:
            response["errors"] = [error.formatted for error in self.errors]
        return response


class Refused(Exception):
    """A request error: which stage refused the request, and why."""

    def __init__(self, stage: Stage, errors: list[GraphQLError]) -> None:
        super().__init__(stage, errors)
        self.stage = stage
        self.errors = errors

    @property
    def result(self) -> Result:
        return Result(self.stage, errors=self.errors)
