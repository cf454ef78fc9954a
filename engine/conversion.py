"""Coerced arguments become what a Strawberry resolver takes. Knows nothing of documents."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from strawberry import ID
from strawberry.schema import Schema
from strawberry.types.arguments import StrawberryArgument, convert_argument
from strawberry.types.base import StrawberryList, StrawberryMaybe, StrawberryOptional
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.types.field import StrawberryField

Convert: TypeAlias = Callable[[Any], Any]

_PLAIN_LEAVES: tuple[object, ...] = (str, int, float, bool, ID)


@dataclass(frozen=True, slots=True)
class Conversion:
    """From coerced GraphQL values to the keyword arguments of a Strawberry resolver."""

    steps: tuple[tuple[str, str, Convert], ...]

    def of(self, coerced: Mapping[str, Any]) -> dict[str, Any]:
        return {
            python_name: convert(coerced[name])
            for name, python_name, convert in self.steps
            if name in coerced
        }


def compiled_conversion(field: StrawberryField, schema: Schema) -> Conversion:
    """The steps that Strawberry would look up again for each call."""
    name_of = schema.config.name_converter.from_argument
    return Conversion(
        tuple(
            (name_of(argument), argument.python_name, _converter(argument, schema))
            for argument in field.arguments
        )
    )


def _converter(argument: StrawberryArgument, schema: Schema) -> Convert:
    declared = argument.type
    if _is_plain_leaf(declared):
        return _as_it_is
    if isinstance(declared, StrawberryList) and _is_plain_leaf(declared.of_type):
        return list  # a copy: defaults and literals are shared by all requests
    registry, config = schema.schema_converter.scalar_registry, schema.config
    return lambda value: convert_argument(value, declared, registry, config)


def _is_plain_leaf(declared: Any) -> bool:
    if isinstance(declared, StrawberryOptional) and not isinstance(declared, StrawberryMaybe):
        return _is_plain_leaf(declared.of_type)
    return declared in _PLAIN_LEAVES or isinstance(declared, StrawberryEnumDefinition)


def _as_it_is(value: Any) -> Any:
    return value
