"""Exceptions that stop a run, and the engine's own errors for clients.

Interrupt                 stops the whole operation (a BaseException)
├── CostLimitExceeded     the response exceeds the rows, bytes or errors that it may have
└── BailOut               the plan met a value it does not support: graphql-core takes over
Unsupported               found while compiling: graphql-core runs this operation from the start
"""

from collections.abc import Coroutine, Sequence
from enum import StrEnum
from typing import Any

from graphql import GraphQLError, Node, located_error


class ErrorCode(StrEnum):
    """`extensions.code` of the engine's own errors."""

    COST_LIMIT_EXCEEDED = "COST_LIMIT_EXCEEDED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    DOCUMENT_LIMIT_EXCEEDED = "DOCUMENT_LIMIT_EXCEEDED"


class Interrupt(BaseException):
    """Ends an operation. Not an `Exception`, so that no executor reports it as a field error."""


class CostLimitExceeded(Interrupt):
    """The response exceeds a limit, such as "100,000 objects and list items"."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit

    @property
    def error(self) -> GraphQLError:
        """The one error of the response."""
        return coded_error(
            f"The response must have at most {self.limit}. Request less at once.",
            ErrorCode.COST_LIMIT_EXCEEDED,
        )


class BailOut(Interrupt):
    """The plan cannot continue. `reason` is a short label for metrics.

    `coroutines` are to be closed when graphql-core has run, which may await some of them.
    """

    def __init__(self, reason: str, coroutines: Sequence[Coroutine[Any, Any, Any]] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.coroutines = coroutines


class Unsupported(Exception):
    """The compiler leaves this operation to graphql-core. `reason` is a label for metrics."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def locate_error(
    error: Exception,
    nodes: Sequence[Node] | None = None,
    path: Sequence[str | int] | None = None,
) -> GraphQLError:
    """The error with its nodes and path, even if its `str()` fails."""
    try:
        if hasattr(error, "nodes") or hasattr(error, "source") or hasattr(error, "positions"):
            return located_error(error, nodes, path)
        # graphql-core's function handles an exception for each of these attributes: 2 of 6 µs.
        message = str(getattr(error, "message", error))
        located = GraphQLError(message, (nodes or ())[:1], path=path, original_error=error)
        return error_at(nodes, located) if nodes and len(nodes) > 1 else located
    except Exception:
        name = type(error).__name__
        unprintable = RuntimeError(f"{name}, whose text cannot be read.")
        unprintable.__cause__ = error
        return GraphQLError(name, nodes, path=path, original_error=unprintable)


def error_at(nodes: Sequence[Node], error: GraphQLError) -> GraphQLError:
    """Set the positions of all nodes on the error, and return it.

    For several nodes, graphql-core's constructor reads the text again and ignores its index.
    """
    locations = [node.loc for node in nodes if node.loc]
    error.nodes = list(nodes)
    error.positions = [location.start for location in locations] or None
    error.locations = [
        location.source.get_location(location.start) for location in locations
    ] or None
    return error


def copied_error(
    error: GraphQLError, message: str, extensions: dict[str, Any] | None = None
) -> GraphQLError:
    """Copy an error with another message and other extensions, without its nodes, which would keep
    the whole document in memory.

    The locations are copied too, because the constructor would compute them from the source again.
    """
    copy = GraphQLError(
        message, path=error.path, original_error=error.original_error, extensions=extensions
    )
    copy.source, copy.positions = error.source, error.positions
    copy.locations = error.locations
    return copy


def coded_error(message: str, code: ErrorCode) -> GraphQLError:
    """An error of the engine with its code."""
    return GraphQLError(message, extensions={"code": code.value})
