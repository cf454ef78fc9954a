"""Type resolution: finds the object type of each row. `@row_classes` declares it by Python class.

    @strawberry.type
    @row_classes(UserId)
    class User(Node): ...

The class of a row is used where its type is ambiguous: in interfaces and unions, and for types that
implement an interface. Elsewhere the declared type is enough.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from graphql import (
    GraphQLAbstractType,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    default_type_resolver,
)
from graphql.execution import Executor
from graphql.execution.collect_fields import FieldDetails
from graphql.pyutils import inspect
from strawberry.types.base import StrawberryObjectDefinition, has_object_definition

from engine.field_errors import bail_out_of_awaitables
from engine.info import FieldInfo
from engine.run import Field

ClassT = TypeVar("ClassT", bound=type)


class IsRowClass:
    """An `is_type_of` that checks only the class of a row.

    It accepts rows of exactly these classes, so that named tuples and plain tuples can represent
    two types of one interface, and instances of the type itself or of a subclass.
    """

    def __init__(self, classes: tuple[type, ...], own: type) -> None:
        self.classes = classes
        self.own = own

    def __call__(self, row: object, info: object) -> bool:
        return type(row) in self.classes or isinstance(row, self.own)


def row_classes(*classes: Any) -> Callable[[ClassT], ClassT]:
    """Declare that rows of exactly these classes, and instances of the type itself, are of a type.

    A `NewType` counts as its supertype.
    """
    real = tuple(getattr(declared, "__supertype__", declared) for declared in classes)

    def declare(cls: ClassT) -> ClassT:
        cls.is_type_of = IsRowClass(real, cls)  # type: ignore[attr-defined]
        return cls

    return declare


@dataclass(frozen=True, slots=True)
class TypeResolution:
    """Finds the object type of rows declared as an object, interface or union."""

    declared: GraphQLObjectType | GraphQLAbstractType
    type_checker: Executor[Any]
    """Checks the names that type resolvers return, and raises graphql-core's errors."""

    by_class: bool
    """Whether the Python class of a row determines its type."""

    def object_type(self, row: Any, field: Field, info: FieldInfo) -> GraphQLObjectType:
        """The type of one row.

        Raises graphql-core's error for a row of no type or of a wrong one.
        """
        core_info: Any = info  # it has the attributes of graphql-core's own info
        declared = self.declared
        if isinstance(declared, GraphQLObjectType):
            object_type = declared
        else:
            resolve_type = declared.resolve_type or default_type_resolver
            name = _not_awaitable(resolve_type(row, core_info, declared))
            object_type = self.type_checker.ensure_valid_runtime_type(
                name, declared, [FieldDetails(node, None) for node in field.nodes], core_info, row
            )
        is_type_of = object_type.is_type_of
        if is_type_of is not None and not _not_awaitable(is_type_of(row, core_info)):
            message = f"Expected value of type '{object_type}' but got: {inspect(row)}."
            raise GraphQLError(message, field.nodes)
        return object_type

    def is_decided_by_class_of(self, row: Any) -> bool:
        """Whether all rows of this row's class have the same object type."""
        if isinstance(self.declared, GraphQLObjectType) and self.declared.is_type_of is None:
            return True
        return self.by_class and _has_one_type(type(row))


def type_resolution(
    declared: GraphQLObjectType | GraphQLAbstractType,
    schema: GraphQLSchema,
    type_checker: Executor[Any],
) -> TypeResolution:
    """The type resolution of rows of this declared type."""
    if isinstance(declared, GraphQLObjectType):
        return TypeResolution(declared, type_checker, _resolves_by_class(declared))
    definition = declared.extensions.get("strawberry-definition")
    has_own_rule = getattr(definition, "resolve_type", None) is not None
    members = schema.get_possible_types(declared)
    by_class = not has_own_rule and all(map(_resolves_by_class, members))
    return TypeResolution(declared, type_checker, by_class)


def _resolves_by_class(object_type: GraphQLObjectType) -> bool:
    """Whether this type does not check its rows, or looks only at their class."""
    if object_type.is_type_of is None:
        return True
    definition = object_type.extensions.get("strawberry-definition")
    return isinstance(definition, StrawberryObjectDefinition) and (
        definition.is_type_of is None or isinstance(definition.is_type_of, IsRowClass)
    )


def _has_one_type(row_class: type[Any]) -> bool:
    """Whether all rows of a class have the same object type.

    Not for instances with a `__dict__`, which may hold the mark of `strawberry.cast`, nor for
    mappings, which may have a `__typename`. These are checked one by one.
    """
    if issubclass(row_class, Mapping):
        return False
    return row_class.__dictoffset__ == 0 or has_object_definition(row_class)


def _not_awaitable(value: Any) -> Any:
    """Return `value`. Raises BailOut if it is awaitable."""
    bail_out_of_awaitables([value])
    return value
