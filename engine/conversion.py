"""Conversion of coerced arguments into keyword arguments of a Strawberry resolver.

Nearly all arguments are plain constants, or variables with a value: these cost one lookup for each
variable. Omitted, null and nested values take the slow path through full coercion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from strawberry import ID
from strawberry.schema import Schema
from strawberry.types.arguments import StrawberryArgument, convert_argument
from strawberry.types.base import StrawberryList, StrawberryMaybe, StrawberryOptional
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.types.field import StrawberryField

from engine.arguments import Arguments
from engine.info import InfoOf
from engine.variables import Values

if TYPE_CHECKING:
    from engine.run import Run

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
class Keywords:
    """The keyword arguments of a Strawberry resolver, at one place in a document."""

    arguments: Arguments
    parameters: tuple[Parameter, ...]
    constants: dict[str, Any] | None
    """Plain constants by their Python names; None if any constant needs a conversion."""
    given: tuple[tuple[str, str, Convert | None], ...]
    """The arguments that are variables: Python name, variable, conversion if any."""
    info: tuple[str, InfoOf] | None
    """The name of the resolver's `info` parameter and its factory, if it takes one."""

    def of(self, run: "Run") -> dict[str, Any]:
        """A new dict of keyword arguments.

        Raises GraphQLError, or what converting an argument raises.
        """
        if self.constants is None:
            keywords = self._by_the_book(run.values)
        else:
            keywords, coerced = self.constants.copy(), run.values.coerced
            for python_name, variable, convert in self.given:
                value = coerced.get(variable)
                if value is None:
                    keywords = self._by_the_book(run.values)
                    break
                keywords[python_name] = value if convert is None else convert(value)
        if self.info is not None:
            name, info_of = self.info
            keywords[name] = info_of(run)
        return keywords

    def _by_the_book(self, values: Values) -> dict[str, Any]:
        coerced = self.arguments.coerced(values)
        return {
            python_name: coerced[name] if convert is None else convert(coerced[name])
            for name, python_name, convert in self.parameters
            if name in coerced
        }


def compiled_keywords(
    field: StrawberryField, arguments: Arguments, info: tuple[str, InfoOf] | None, schema: Schema
) -> Keywords:
    """The keyword arguments of a field, with all lookups made that do not depend on a run."""
    name_of = schema.config.name_converter.from_argument
    parameters = tuple(
        Parameter(name_of(argument), argument.python_name, _converter(argument, schema))
        for argument in field.arguments
    )
    by_name = {parameter.name: parameter for parameter in parameters}
    plain = {
        by_name[name].python_name: value
        for name, value in arguments.constants.items()
        if by_name[name].convert is None
    }
    is_usual = not arguments.is_odd and len(plain) == len(arguments.constants)
    given = tuple(
        (by_name[bound.name].python_name, bound.variable, by_name[bound.name].convert)
        for bound in arguments.bound
    )
    return Keywords(arguments, parameters, plain if is_usual else None, given, info)


def _converter(argument: StrawberryArgument, schema: Schema) -> Convert | None:
    declared = argument.type
    if _is_plain_leaf(declared):
        return None
    if isinstance(declared, StrawberryList) and _is_plain_leaf(declared.of_type):
        return list  # a copy: all requests share defaults and literals
    registry, config = schema.schema_converter.scalar_registry, schema.config
    return lambda value: convert_argument(value, declared, registry, config)


def _is_plain_leaf(declared: Any) -> bool:
    if isinstance(declared, StrawberryOptional) and not isinstance(declared, StrawberryMaybe):
        return _is_plain_leaf(declared.of_type)
    return declared in _PLAIN_LEAVES or isinstance(declared, StrawberryEnumDefinition)
