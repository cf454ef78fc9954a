"""`@of_rows`: which light rows stand for an object type. Knows nothing of plans.

    @strawberry.type
    @of_rows(UserId)
    class User(Node): ...

Rows are recognised by their class where an object type must be told from others: in interfaces and
unions, and wherever a type implements an interface. Elsewhere the declared type is enough.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from graphql import GraphQLObjectType
from strawberry.types.base import StrawberryObjectDefinition, has_object_definition

ClassT = TypeVar("ClassT", bound=type)


class ByClass:
    """An `is_type_of` that looks at a row's class alone.

    A row of a subclass belongs to the type that names the subclass: so named tuples and plain
    tuples can stand for two types of one interface.
    """

    def __init__(self, classes: tuple[type, ...], own: type) -> None:
        self.classes = classes
        self.own = own

    def __call__(self, row: object, info: object) -> bool:
        return type(row) in self.classes or isinstance(row, self.own)


def of_rows(*classes: Any) -> Callable[[ClassT], ClassT]:
    """Declare that rows of exactly these classes, and instances of the type itself, are of a type.

    A `NewType` stands for the class that it is made of.
    """
    real = tuple(getattr(given, "__supertype__", given) for given in classes)

    def declare(cls: ClassT) -> ClassT:
        cls.is_type_of = ByClass(real, cls)  # type: ignore[attr-defined]
        return cls

    return declare


def decided_by_class(object_type: GraphQLObjectType) -> bool:
    """Whether this type recognises rows by their class: with @of_rows, or Strawberry's way."""
    if object_type.is_type_of is None:
        return True
    definition = object_type.extensions.get("strawberry-definition")
    return isinstance(definition, StrawberryObjectDefinition) and (
        definition.is_type_of is None or isinstance(definition.is_type_of, ByClass)
    )


def speaks_for_all(row_class: type[Any]) -> bool:
    """Whether all rows of a class are of one object type.

    Rows with a dict of their own may carry the mark of `strawberry.cast`, and mappings may have a
    `__typename`: these are asked one by one.
    """
    if issubclass(row_class, Mapping):
        return False
    return row_class.__dictoffset__ == 0 or has_object_definition(row_class)
