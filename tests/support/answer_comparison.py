"""Compare the responses of two executors, except for what the specification leaves open.

Data must be equal in any case. Where no resolver waits, the errors must be equal too, in order,
with message, path, locations and extensions.

Where resolvers wait, errors are in the order of their arrival, which is not compared. If several
errors make the same parent null, any of them may be reported: the first one cancels the others. So
errors are grouped by the path of the null that they cause. An error that makes only its own field
null must be the same in both responses. For a parent that an error makes null, both must have one.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

import orjson
from graphql import (
    DocumentNode,
    GraphQLError,
    NonNullTypeNode,
    OperationDefinitionNode,
    execute,
    parse,
    print_ast,
    specified_rules,
)
from strawberry import Schema
from strawberry.execution import optimized_is_awaitable
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext, validate_document

Path: TypeAlias = tuple[str | int, ...]
FormatError: TypeAlias = Callable[[GraphQLError], Mapping[str, Any]]


def _as_specified(error: GraphQLError) -> Mapping[str, Any]:
    return error.formatted


class Answer:
    """Data and errors as a client receives them. `format_error` returns the JSON object of an
    error."""

    def __init__(
        self,
        data: Any,
        errors: Sequence[GraphQLError] | None,
        format_error: FormatError = _as_specified,
    ) -> None:
        self.data = orjson.loads(orjson.dumps(data))
        self.errors = [orjson.loads(orjson.dumps(format_error(error))) for error in errors or ()]

    def assert_equals(self, other: "Answer", *, in_order: bool) -> None:
        """Compare with `other`, the response of graphql-core. `in_order`: no resolver waits, so all
        errors must be equal, in order."""
        assert self.data == other.data, _differences(self.data, other.data)
        errors = self._errors_located_as(other)
        if in_order or not any("path" in error for error in errors):  # it was not executed
            assert errors == other.errors
        else:
            assert self._errors_by_null() == other._errors_by_null()

    def _errors_located_as(self, other: "Answer") -> list[Any]:
        """The errors, without locations where graphql-core has none: those of invalid lists,
        objects and custom scalars in a document."""
        located = ["locations" in error for error in other.errors]
        return [
            error if is_located else {key: error[key] for key in error if key != "locations"}
            for error, is_located in zip_longest(self.errors, located[: len(self.errors)])
        ]

    def _errors_by_null(self) -> dict[Path, Any]:
        """By the path of each null: its errors, or "below" if errors below it made it null."""
        found: defaultdict[Path, list[Any]] = defaultdict(list)
        for error in self.errors:
            path = tuple(error.get("path", ()))
            place = self._nulled(path)
            found[place].append(error if place == path else "below")
        return {
            place: "below" if "below" in errors else sorted(errors, key=repr)
            for place, errors in found.items()
        }

    def _nulled(self, path: Path) -> Path:
        """The path of the null that an error at `path` causes: `path`, or that of a parent."""
        value = self.data
        for length, key in enumerate(path):
            if value is None:
                return path[:length]
            value = value[key]
        return path


def _differences(left: Any, right: Any, path: Path = ()) -> list[tuple[Path, Any, Any]]:
    """Where two JSON values differ, with both values, as pytest may not show a long one."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        keys: Sequence[str | int] = list(left)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        keys = range(len(left))
    else:
        return [] if left == right else [(path, left, right)]
    return [
        difference
        for key in keys
        for difference in _differences(left[key], right[key], (*path, key))
    ]


async def by_graphql_core(
    schema: Schema,
    query: str,
    variables: dict[str, Any],
    context: Any = None,
    root: Any = None,
    format_error: FormatError = _as_specified,
) -> Answer:
    """The response of graphql-core, with Strawberry's executor and none of the engine's code.

    Except for a variable in @skip or @include that is null: it is an error of the variable, while
    graphql-core reports an error of each field above the directive.
    """
    try:
        document = parse(query)
    except GraphQLError as error:
        return Answer(None, [error], format_error)
    if errors := validate_document(schema._schema, document, tuple(specified_rules)):
        return Answer(None, errors, format_error)
    if errors := _null_conditions(document, variables):
        return Answer(None, errors, format_error)
    result: Any = execute(
        schema._schema,
        document,
        root_value=root,
        context_value=context,
        variable_values=variables,
        executor_class=StrawberryGraphQLCoreExecutionContext,
    )
    if optimized_is_awaitable(result):
        result = await result
    return Answer(result.data, result.errors, format_error)


def _null_conditions(document: DocumentNode, variables: Mapping[str, Any]) -> list[GraphQLError]:
    """An error for each nullable variable of the only operation that is null and in a directive."""
    (operation,) = (one for one in document.definitions if isinstance(one, OperationDefinitionNode))
    directives = re.findall(r"@\w+\([^)]*\)", print_ast(document))
    used = set(re.findall(r"\$(\w+)", " ".join(directives)))
    return [
        GraphQLError(f"Variable '${name}' must not be null: @skip or @include needs it.", node)
        for node in operation.variable_definitions or ()
        if (name := node.variable.name.value) in used
        and not isinstance(node.type, NonNullTypeNode)
        and variables.get(name, "absent") is None
    ]
