"""The result of a request, and the stage that it reached."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from graphql import GraphQLError


class Stage(StrEnum):
    """The stage at which a request ended. All but EXECUTION are request errors, without data."""

    PARSE = "parse"
    LIMITS = "limits"
    VALIDATION = "validation"
    OPERATION = "operation"
    VARIABLES = "variables"
    EXECUTION = "execution"


@dataclass(slots=True)  # not frozen: that would double the time of construction
class Result:
    """A result. Results may share parts of `data`, so callers must not change it."""

    stage: Stage
    data: dict[str, Any] | None = None
    errors: list[GraphQLError] = field(default_factory=list)
    rows: int = 0
    """Objects and list items built for `data`; 0 if graphql-core ran the operation."""
    bytes: int = 0
    """The estimated length of the response as JSON; 0 if graphql-core ran the operation."""

    @property
    def is_request_error(self) -> bool:
        return self.stage is not Stage.EXECUTION

    def response(self) -> dict[str, Any]:
        """The response by the GraphQL specification: no `data` after a request error."""
        response: dict[str, Any] = {} if self.is_request_error else {"data": self.data}
        if self.errors:
            response["errors"] = [error.formatted for error in self.errors]
        return response


class RequestError(Exception):
    """A request error: the stage that rejected the request, and the errors."""

    def __init__(self, stage: Stage, errors: list[GraphQLError]) -> None:
        super().__init__(stage, errors)
        self.stage = stage
        self.errors = errors

    @property
    def result(self) -> Result:
        return Result(self.stage, errors=self.errors)
