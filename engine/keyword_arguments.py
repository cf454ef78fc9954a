"""Conversion of coerced arguments into keyword arguments of a Strawberry resolver.

Nearly all arguments are plain constants, or variables with a value: these cost one lookup for each
variable. Omitted, null and nested values take the slow path through full coercion.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass
from typing import Any, NamedTuple, TypeAlias

from strawberry import ID
from strawberry.schema import Schema
from strawberry.types.arguments import convert_argument
from strawberry.types.base import (
    StrawberryList,
    StrawberryMaybe,
    StrawberryObjectDefinition,
    StrawberryOptional,
    has_object_definition,
)
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.types.field import StrawberryField

from engine.arguments import FieldArguments
from engine.info import InfoFactory
from engine.run import Run
from engine.variables import Values

Convert: TypeAlias = Callable[[Any], Any]

_PLAIN_LEAVES: tuple[object, ...] = (str, int, float, bool, ID)


class Parameter(NamedTuple):
    """One argument of a resolver."""

    name: str
    """The GraphQL name."""
    python_name: str
    convert: Convert | None
    """None: no conversion."""


@dataclass(frozen=True, slots=True)
class KeywordArguments:
    """The keyword arguments of a Strawberry resolver, at one place in a document."""

    arguments: FieldArguments
    parameters: tuple[Parameter, ...]
    constants: dict[str, Any] | None
    """Plain constants by their Python names; None if any constant needs a conversion."""
    variables: tuple[tuple[str, str, Convert | None], ...]
    """The arguments that are variables: Python name, variable, conversion if any."""
    info: tuple[str, InfoFactory] | None
    """The name of the resolver's `info` parameter and its factory, if it takes one."""

    def build(self, run: Run) -> dict[str, Any]:
        """A new dict of keyword arguments.

        Raises GraphQLError, or what converting an argument raises.
        """
        if self.constants is None:
            keywords = self._coerced_fully(run.values)
        else:
            keywords, coerced = self.constants.copy(), run.values.coerced
            for python_name, variable, convert in self.variables:
                value = coerced.get(variable)
                if value is None:
                    keywords = self._coerced_fully(run.values)
                    break
                keywords[python_name] = value if convert is None else convert(value)
        if self.info is not None:
            name, make_info = self.info
            keywords[name] = make_info(run)
        return keywords

    def _coerced_fully(self, values: Values) -> dict[str, Any]:
        coerced = self.arguments.coerced(values)
        return {
            python_name: coerced[name] if convert is None else convert(coerced[name])
            for name, python_name, convert in self.parameters
            if name in coerced
        }


def compile_keywords(
    field: StrawberryField,
    arguments: FieldArguments,
    make_info: InfoFactory,
    schema: Schema,
) -> KeywordArguments:
    """The keyword arguments of a field, with all lookups made that do not depend on a run."""
    name_of = schema.config.name_converter.from_argument
    parameters = tuple(
        Parameter(name_of(argument), argument.python_name, _converter(argument.type, schema))
        for argument in field.arguments
    )
    by_name = {parameter.name: parameter for parameter in parameters}
    plain = {
        by_name[name].python_name: value
        for name, value in arguments.constants.items()
        if by_name[name].convert is None
    }
    are_plain = not arguments.needs_graphql_core and len(plain) == len(arguments.constants)
    variables = tuple(
        (
            by_name[argument.name].python_name,
            argument.variable,
            by_name[argument.name].convert,
        )
        for argument in arguments.variable_arguments
    )
    info_parameter = field.base_resolver.info_parameter if field.base_resolver else None
    info = None if info_parameter is None else (info_parameter.name, make_info)
    return KeywordArguments(arguments, parameters, plain if are_plain else None, variables, info)


def _converter(declared: Any, schema: Schema) -> Convert | None:
    """The function that converts a coerced argument of this type. None: it needs no conversion."""
    if _is_plain_leaf(declared):
        return None
    if isinstance(declared, StrawberryOptional) and not isinstance(declared, StrawberryMaybe):
        convert = _converter(declared.of_type, schema)
        return convert and (lambda value: None if value is None else convert(value))
    if isinstance(declared, StrawberryList) and _is_plain_leaf(declared.of_type):
        return list  # a copy: all requests share defaults and literals
    if isinstance(declared, StrawberryList) and _is_input(declared.of_type):
        convert_item = _converter(declared.of_type, schema)
        assert convert_item is not None, "an input object needs a conversion"
        return lambda values: [convert_item(value) for value in values]
    registry, config = schema.schema_converter.scalar_registry, schema.config
    if has_object_definition(declared) and _is_input(declared):
        return _input_converter(declared, declared.__strawberry_definition__, schema)
    return lambda value: convert_argument(value, declared, registry, config)


def _input_converter(
    input_class: type, definition: StrawberryObjectDefinition, schema: Schema
) -> Convert:
    """Return a function that converts an input object as `convert_argument` does, but looks up the
    names and types of its fields only once."""
    name_of = schema.config.name_converter.from_field
    omitted = {
        field.python_name: None
        for field in definition.fields
        if field.default_value is MISSING and field.default_factory is MISSING
    }
    fields: list[Parameter] = []

    def convert(value: Any) -> Any:
        if not fields:  # compiled on first use, because an input may contain itself
            fields.extend(
                Parameter(
                    name_of(field),
                    field.python_name,
                    _converter(field.resolve_type(type_definition=definition), schema),
                )
                for field in definition.fields
            )
        keywords: dict[str, Any] = omitted.copy()
        for name, python_name, convert_field in fields:
            if name in value:
                given = value[name]
                keywords[python_name] = given if convert_field is None else convert_field(given)
        return input_class(**keywords)

    return convert


def _is_input(declared: Any) -> bool:
    if not has_object_definition(declared):
        return False
    definition = declared.__strawberry_definition__
    return definition.is_input and definition.from_input is None


def _is_plain_leaf(declared: Any) -> bool:
    if isinstance(declared, StrawberryOptional) and not isinstance(declared, StrawberryMaybe):
        return _is_plain_leaf(declared.of_type)
    return declared in _PLAIN_LEAVES or isinstance(declared, StrawberryEnumDefinition)
