"""Relay's four arguments, written once for all lists. Knows nothing of lists."""

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import strawberry
from strawberry import UNSET

from schema.arguments import Paging

First = Annotated[
    int | None,
    strawberry.argument(
        description="How many from the list's beginning: 20 by default, at most 100."
    ),
]
After = Annotated[
    str | None,
    strawberry.argument(description="Only what comes after the edge with this cursor."),
]
Last = Annotated[
    int | None,
    strawberry.argument(description="How many from the list's end, instead of `first`."),
]
Before = Annotated[
    str | None,
    strawberry.argument(description="Only what comes before the edge with this cursor."),
]

_ARGUMENTS = {"first": First, "after": After, "last": Last, "before": Before}

T = TypeVar("T")


def paged(resolver: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """A resolver that takes a `paging` becomes one that takes the four arguments in its place.

    Strawberry reads a field's arguments off the signature: so that is what is changed.
    """
    signature = inspect.signature(resolver)

    @wraps(resolver)
    async def resolved(*parents: Any, **arguments: Any) -> T:
        given = [arguments.pop(name, None) for name in _ARGUMENTS]
        paging = Paging(*[None if value is UNSET else value for value in given])
        return await resolver(*parents, paging=paging, **arguments)

    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    four = [
        inspect.Parameter(name, kinds, default=UNSET, annotation=declared)
        for name, declared in _ARGUMENTS.items()
    ]
    before = list(signature.parameters.values())
    place = [parameter.name for parameter in before].index("paging")
    parameters = [*before[:place], *four, *before[place + 1 :]]
    resolved.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return resolved
