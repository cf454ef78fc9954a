"""Relay's four arguments, written once for all lists. Knows nothing of lists."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
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

_paging: Callable[[tuple[int | None, str | None, int | None, str | None]], Paging] = partial(
    tuple.__new__, Paging
)

T = TypeVar("T")


def paged(resolver: Callable[..., T]) -> Callable[..., T]:
    """A resolver that takes a `paging` becomes one that takes the four arguments in its place.

    Strawberry reads a field's arguments off the signature: so that is what is changed. What is not
    given is None to the resolver, and has no default in the schema.
    """
    signature = inspect.signature(resolver)

    @wraps(resolver)
    def resolved(
        *parents: Any,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        **others: Any,
    ) -> T:
        return resolver(*parents, paging=_paging((first, after, last, before)), **others)

    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    four = [
        inspect.Parameter(name, kinds, default=UNSET, annotation=declared)
        for name, declared in _ARGUMENTS.items()
    ]
    declared = [
        parameter.replace(default=UNSET) if parameter.default is None else parameter
        for parameter in signature.parameters.values()
    ]
    place = [parameter.name for parameter in declared].index("paging")
    parameters = [*declared[:place], *four, *declared[place + 1 :]]
    resolved.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return resolved
