"""Coercion of an operation's variables.

Most values already have their coerced form. Tests compiled once for each operation recognise these,
a list of strings by one pass in C. graphql-core coerces all others and reports the errors; it takes
1 to 8 µs for each list item and object key, at once, so their number is limited. So is the number
of input objects in a list: each of them becomes an object before a resolver sees the list.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import partial
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

from graphql import (
    GRAPHQL_MAX_INT,
    GRAPHQL_MIN_INT,
    GraphQLBoolean,
    GraphQLError,
    GraphQLFloat,
    GraphQLID,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLString,
    NonNullTypeNode,
    OperationDefinitionNode,
    Undefined,
    VariableDefinitionNode,
    get_nullable_type,
    type_from_ast,
)
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.execution.values import (
    VariableValues,
    VariableValueSource,
    get_variable_values,
)
from graphql.utilities.coerce_input_value import coerce_default_value

from engine.errors import locate_error
from engine.settings import EngineSettings

Test: TypeAlias = Callable[[Any], bool]

ABSENT: Any = object()
"""In place of a value that was not sent, or of a default that does not exist. None is a null."""
ITEM_CHARACTERS = 16
"""How many characters a list item or object key counts as, besides those of its text."""
OBJECTS_MAX = 1_000
"""Input objects in one list. A longer list counts as one that needs coercion."""


class InvalidVariables(Exception):
    """The variables are invalid for the operation; `errors` say why."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(errors)
        self.errors = errors


class Values(NamedTuple):
    """The variables of one request, as sent and as coerced."""

    coerced: dict[str, Any]
    raw: Mapping[str, Any]
    variables: "Variables"

    def as_graphql_core(self, names: Iterable[str]) -> VariableValues:
        """The values in graphql-core's form, for a use of these variables.

        They are not coerced again: a document may use a long list in hundreds of places.
        """
        return VariableValues(self.variables.sources(names, self.raw), self.coerced)


# The constructor of a NamedTuple takes three times as long.
_values: Callable[[tuple[dict[str, Any], Mapping[str, Any], "Variables"]], Values] = partial(
    tuple.__new__, Values
)


class Variable(NamedTuple):
    """One declared variable, with the tests for values that need no coercion."""

    node: VariableDefinitionNode
    name: str
    exact_type: type | None
    """A Python type of which no value needs coercion."""

    needs_no_coercion: Test
    default: Any
    """`ABSENT` if there is none."""
    is_required: bool
    """Whether graphql-core must report a missing value, or an invalid default."""


class Variables:
    """All variables of an operation."""

    def __init__(
        self,
        schema: GraphQLSchema,
        operation: OperationDefinitionNode,
        settings: EngineSettings,
        conditions: Collection[str] = (),
    ) -> None:
        """`conditions`: the variables in @skip and @include."""
        self._schema = schema
        self._conditions = frozenset(conditions)
        self._max_coerced_values = settings.max_coerced_values
        self._max_subscription_characters = settings.max_subscription_characters
        self._max_errors = settings.max_errors
        self.nodes = list(operation.variable_definitions or ())
        self._variables = [self._compiled(node) for node in self.nodes]
        self._signatures: Mapping[str, Any] = {
            node.variable.name.value: get_variable_signature(schema, node) for node in self.nodes
        }

    @property
    def names(self) -> set[str]:
        return {variable.name for variable in self._variables}

    def declared(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the variables that the operation declares."""
        return {name: raw[name] for name in self.names if name in raw}

    def coerce(self, raw: Mapping[str, Any]) -> Values:
        """The coerced values.

        Raises InvalidVariables.
        """
        coerced: dict[str, Any] = {}
        uncoerced: list[VariableDefinitionNode] = []
        for node, name, exact_type, needs_no_coercion, default, is_required in self._variables:
            value = raw.get(name, ABSENT)
            if value is ABSENT:
                if is_required:
                    uncoerced.append(node)
                elif default is not ABSENT:
                    coerced[name] = default
            elif type(value) is exact_type or needs_no_coercion(value):
                coerced[name] = value
            else:
                uncoerced.append(node)
        if uncoerced:
            self._require_conditions(uncoerced, raw)
            self.require_few(uncoerced, raw)
            coerced.update(self.coerced_by_graphql_core(uncoerced, raw).coerced)
        return _values((coerced, raw, self))

    def _require_conditions(
        self, nodes: list[VariableDefinitionNode], raw: Mapping[str, Any]
    ) -> None:
        """Raises InvalidVariables if a variable in @skip or @include is null. Validation allows
        null for a variable with a default."""
        errors = [
            GraphQLError(f"Variable '${name}' must not be null: @skip or @include needs it.", node)
            for node in nodes
            if (name := node.variable.name.value) in self._conditions
            and not isinstance(node.type, NonNullTypeNode)  # graphql-core reports these
            and raw.get(name, ABSENT) is None
        ]
        if errors:
            raise InvalidVariables(errors[: self._max_errors])

    def require_few(self, nodes: list[VariableDefinitionNode], raw: Mapping[str, Any]) -> None:
        """Raises InvalidVariables if graphql-core would coerce too many values for `nodes`."""
        limit = self._max_coerced_values
        values = [raw.get(node.variable.name.value) for node in nodes]
        if exceeds(values, limit + len(values)):
            names = ", ".join(f"${node.variable.name.value}" for node in nodes)
            message = (
                f"{names} must have at most {limit:,} list items and object keys in all. "
                "Send them in several requests, with strings for IDs and without unknown fields."
            )
            raise InvalidVariables([GraphQLError(message, nodes)])

    def require_short(self, raw: Mapping[str, Any]) -> None:
        """Raises InvalidVariables if the values are too large for a subscription to keep."""
        limit = self._max_subscription_characters
        if is_longer(list(self.declared(raw).values()), limit):
            message = (
                f"The variables of a subscription must have at most {limit:,} characters in all. "
                f"Each list item and object key counts as {ITEM_CHARACTERS} more."
            )
            raise InvalidVariables([GraphQLError(message, self.nodes)])

    def sources(
        self, names: Iterable[str], raw: Mapping[str, Any]
    ) -> dict[str, VariableValueSource]:
        """The signatures and uncoerced values of some variables, as graphql-core reads them."""
        signatures = self._signatures
        return {
            name: VariableValueSource(signatures[name], raw.get(name, Undefined)) for name in names
        }

    def coerced_by_graphql_core(
        self, nodes: list[VariableDefinitionNode], raw: Mapping[str, Any]
    ) -> VariableValues:
        """Coerce some of the variables with graphql-core."""
        try:
            values = get_variable_values(self._schema, nodes, dict(raw), self._max_errors)
        except Exception as error:  # from a custom scalar: graphql-core does not catch it
            raise InvalidVariables([locate_error(error, nodes)]) from error
        if isinstance(values, list):
            raise InvalidVariables(values)
        return values

    def _compiled(self, node: VariableDefinitionNode) -> Variable:
        name = node.variable.name.value
        declared: Any = type_from_ast(self._schema, node.type)
        default, is_required = ABSENT, isinstance(declared, GraphQLNonNull)
        if node.default_value is not None:
            try:
                default = self.coerced_by_graphql_core([node], {}).coerced[name]
                is_required = False
            except InvalidVariables:
                is_required = True  # so that graphql-core reports the invalid default
        exact_type = _EXACT_TYPES.get(get_nullable_type(declared))
        tested = declared
        if name in self._conditions:  # null is not valid for them, whatever is declared
            tested = GraphQLNonNull(get_nullable_type(declared))
        return Variable(node, name, exact_type, no_coercion_test(tested), default, is_required)


def exceeds(value: list[Any], limit: int) -> bool:
    """Whether the list items and object keys in `value`, at any depth, are more than `limit`.

    Counting stops there.
    """
    count, containers = 0, list[list[Any] | dict[str, Any]]([value])
    while containers:
        container = containers.pop()
        count += len(container)
        if count > limit:
            return True
        items = container.values() if isinstance(container, dict) else container
        containers.extend(item for item in items if isinstance(item, list | dict))
    return False


def is_longer(value: list[Any], limit: int) -> bool:
    """Whether the texts in `value`, at any depth, have more characters than `limit`. Each list item
    and object key counts as `ITEM_CHARACTERS` more, except the items of `value` itself. Counting
    stops at the limit."""
    left = limit + len(value) * ITEM_CHARACTERS
    containers: list[Any] = [value]
    while containers:
        container = containers.pop()
        left -= len(container) * ITEM_CHARACTERS
        if left < 0:
            return True
        items: Iterable[Any] = container
        if isinstance(container, dict):
            left -= sum(map(len, container))
            items = container.values()
        left -= sum(len(item) for item in items if isinstance(item, str))
        containers.extend(item for item in items if isinstance(item, list | dict))
    return left < 0


def no_coercion_test(
    declared: GraphQLInputType, inside: tuple[GraphQLInputObjectType, ...] = ()
) -> Test:
    """A test for values of this type that coercion would not change.

    `inside`: the input objects that contain the value. An input object inside itself always fails
    the test, so that a deep value cannot exceed the recursion limit.
    """
    if not isinstance(declared, GraphQLNonNull):
        inner = no_coercion_test(GraphQLNonNull(declared), inside)
        return lambda value: value is None or inner(value)
    nullable = declared.of_type
    if isinstance(nullable, GraphQLList):
        item = nullable.of_type
        if isinstance(item, GraphQLNonNull) and item.of_type in (GraphQLID, GraphQLString):
            return _is_list_of_text
        test = no_coercion_test(item, inside)
        if isinstance(get_nullable_type(item), GraphQLInputObjectType):
            return partial(_is_list_of_objects, test)
        return partial(_is_list_of, test)
    if isinstance(nullable, GraphQLInputObjectType):
        return _test_of_object(nullable, inside)
    definition = nullable.extensions.get("strawberry-definition")
    if getattr(definition, "parse_value", None) is any_value:
        return _is_present
    return _TESTS.get(nullable, _never)


def _test_of_object(
    declared: GraphQLInputObjectType, inside: tuple[GraphQLInputObjectType, ...]
) -> Test:
    """A test for input objects. It always fails for types whose coerced objects are not dicts with
    the same names, for oneOf types, and inside an object of the same type."""
    has_own_form = declared.out_type is not GraphQLInputObjectType.out_type or any(
        field.out_name not in (None, name) for name, field in declared.fields.items()
    )
    if declared.is_one_of or has_own_form or declared in inside:
        return _never
    tests = {
        name: no_coercion_test(field.type, (*inside, declared))
        for name, field in declared.fields.items()
    }
    needed = {
        name
        for name, field in declared.fields.items()
        if isinstance(field.type, GraphQLNonNull) or coerce_default_value(field) is not Undefined
    }
    return partial(_is_object, tests, needed)


def _is_object(tests: Mapping[str, Test], needed: Set[str], value: Any) -> bool:
    if type(value) is not dict or not needed <= value.keys():
        return False
    return all(name in tests and tests[name](item) for name, item in value.items())


def any_value(value: Any) -> Any:
    """The `parse_value` of a scalar whose values need no coercion. graphql-core takes 4 µs each."""
    return value


def _is_present(value: Any) -> bool:
    return value is not None


def _never(value: Any) -> bool:
    return False


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_list_of_text(value: Any) -> bool:
    if type(value) is not list:
        return False
    try:
        "".join(value)  # checks the types in a quarter of the time of any other test
    except TypeError:
        return False
    return True


def _is_list_of(test: Test, value: Any) -> bool:
    return type(value) is list and all(map(test, value))


def _is_list_of_objects(test: Test, value: Any) -> bool:
    return type(value) is list and len(value) <= OBJECTS_MAX and all(map(test, value))


_EXACT_TYPES: dict[Any, type] = {GraphQLID: str, GraphQLString: str, GraphQLBoolean: bool}

_TESTS: dict[Any, Test] = {
    GraphQLID: _is_text,
    GraphQLString: _is_text,
    GraphQLBoolean: lambda value: type(value) is bool,
    GraphQLInt: lambda value: type(value) is int and GRAPHQL_MIN_INT <= value <= GRAPHQL_MAX_INT,
    GraphQLFloat: lambda value: type(value) is float and isfinite(value),
}
