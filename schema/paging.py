"""Relay's four arguments, declared once for all lists."""

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
        description="Returns the first entries of the list: between 0 and 100, by default 20. "
        "Cannot be combined with `last`."
    ),
]
After = Annotated[
    str | None, strawberry.argument(description="Returns only entries after this cursor.")
]
Last = Annotated[
    int | None,
    strawberry.argument(
        description="Returns the last entries of the list: between 0 and 100. Cannot be combined "
        "with `first`."
    ),
]
Before = Annotated[
    str | None, strawberry.argument(description="Returns only entries before this cursor.")
]

_ARGUMENTS = {"first": First, "after": After, "last": Last, "before": Before}

_paging: Callable[[tuple[int | None, str | None, int | None, str | None]], Paging] = partial(
    tuple.__new__, Paging
)

T = TypeVar("T")


def paged(resolver: Callable[..., T]) -> Callable[..., T]:
    """Return a resolver that takes the four arguments in place of the parameter `paging`.

    Strawberry reads the arguments of a field from the signature, so the signature is changed. An
    omitted argument is None in the resolver and has no default in the schema.
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

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    paging_parameters = [
        inspect.Parameter(name, kind, default=UNSET, annotation=declared)
        for name, declared in _ARGUMENTS.items()
    ]
    declared = [
        parameter.replace(default=UNSET) if parameter.default is None else parameter
        for parameter in signature.parameters.values()
    ]
    place = [parameter.name for parameter in declared].index("paging")
    parameters = [*declared[:place], *paging_parameters, *declared[place + 1 :]]
    resolved.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return resolved
