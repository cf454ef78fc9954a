"""`@row_classes`: declares the classes of light rows that represent an object type.

    @strawberry.type
    @row_classes(UserId)
    class User(Node): ...

The class of a row is used where its type is ambiguous: in interfaces and unions, and for types that
implement an interface. Elsewhere the declared type is enough.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from graphql import GraphQLObjectType
from strawberry.types.base import StrawberryObjectDefinition, has_object_definition

ClassT = TypeVar("ClassT", bound=type)


class ByClass:
    """An `is_type_of` that checks only the class of a row.

    A subclass belongs only to the type that lists it, so named tuples and plain tuples can
    represent two types of one interface.
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
    real = tuple(getattr(given, "__supertype__", given) for given in classes)

    def declare(cls: ClassT) -> ClassT:
        cls.is_type_of = ByClass(real, cls)  # type: ignore[attr-defined]
        return cls

    return declare


def decided_by_class(object_type: GraphQLObjectType) -> bool:
    """Whether this type recognises rows by class: by @row_classes or by Strawberry's default."""
    if object_type.is_type_of is None:
        return True
    definition = object_type.extensions.get("strawberry-definition")
    return isinstance(definition, StrawberryObjectDefinition) and (
        definition.is_type_of is None or isinstance(definition.is_type_of, ByClass)
    )


def speaks_for_all(row_class: type[Any]) -> bool:
    """Whether all rows of a class have the same object type.

    Not for instances with a `__dict__`, which may hold the mark of `strawberry.cast`, nor for
    mappings, which may have a `__typename`. These are checked one by one.
    """
    if issubclass(row_class, Mapping):
        return False
    return row_class.__dictoffset__ == 0 or has_object_definition(row_class)
