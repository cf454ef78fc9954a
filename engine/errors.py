"""What can stop a run, and how it is worded to the client. Knows nothing of how things run.

Interrupt                 stops the whole operation (a BaseException)
├── CostLimitExceeded     the answer grows beyond the rows that one operation may make
└── BailOut               the plan met what it cannot do: graphql-core takes over
Unsupported               found while compiling: graphql-core runs this operation from the start
"""

from collections.abc import Sequence
from enum import StrEnum

from graphql import GraphQLError, Node, located_error


class Code(StrEnum):
    """`extensions.code` of the errors that the engine itself makes."""

    COST_LIMIT_EXCEEDED = "COST_LIMIT_EXCEEDED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    DOCUMENT_LIMIT_EXCEEDED = "DOCUMENT_LIMIT_EXCEEDED"


class Interrupt(BaseException):
    """Ends an operation. Not an `Exception`, so that no executor takes it for a field's error."""


class CostLimitExceeded(Interrupt):
    """More rows than one operation may make."""

    def __init__(self, max_rows: int) -> None:
        super().__init__(max_rows)
        self.max_rows = max_rows

    @property
    def error(self) -> GraphQLError:
        """The one error of the response."""
        return coded(
            f"The response must have at most {self.max_rows:,} objects and list items.",
            Code.COST_LIMIT_EXCEEDED,
        )


class BailOut(Interrupt):
    """The plan cannot go on; `reason` is a short word for a metric's label."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unsupported(Exception):
    """The compiler leaves this operation to graphql-core; `reason` labels a metric."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def located(
    error: Exception,
    nodes: Sequence[Node] | None = None,
    path: Sequence[str | int] | None = None,
) -> GraphQLError:
    """The error at its place in the answer, even one that fails to say what it is."""
    try:
        return located_error(error, nodes, path)
    except Exception:
        name = type(error).__name__
        speaker = RuntimeError(f"{name}, which fails to say what it is.")
        speaker.__cause__ = error
        return GraphQLError(name, nodes, path=path, original_error=speaker)


def coded(message: str, code: Code) -> GraphQLError:
    """An error of the engine's own, with its code."""
    return GraphQLError(message, extensions={"code": code.value})
