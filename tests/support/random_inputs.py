"""Generate input values, as literals or as variables."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    is_required_input_field,
)

Draw: TypeAlias = Callable[[Random], Any]


@dataclass(slots=True)
class Request:
    """A request that is being generated."""

    selection: str = ""
    kind: str = "query"
    fragments: list[tuple[str, str]] = field(default_factory=list)
    """The type condition and the selection of each fragment."""

    declarations: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    names: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    @property
    def query(self) -> str:
        declared = f"({', '.join(self.declarations)})" if self.declarations else ""
        fragments = [
            f" fragment F{index} on {on} {text}" for index, (on, text) in enumerate(self.fragments)
        ]
        return f"{self.kind} Q{declared} {self.selection}{''.join(fragments)}"

    def variable(self, declared: str, value: Any) -> str:
        """Declare a variable and return it with its `$`. It gets no value if `value` is `...`."""
        name = f"v{next(self.names)}"
        self.declarations.append(f"${name}: {declared}")
        if value is not ...:
            self.variables[name] = value
        return f"${name}"


class Inputs:
    """Draws values of input types; `values` draws their leaves, by the name of the type."""

    def __init__(self, values: Mapping[str, Draw]) -> None:
        self._values = values

    def literal(
        self, declared: GraphQLInputType, random: Random, request: Request, depth: int
    ) -> str:
        if random.random() < 0.35:
            return self._drawn_variable(declared, random, request)
        if isinstance(declared, GraphQLNonNull):
            declared = declared.of_type
        elif random.random() < 0.1:
            return "null"
        if isinstance(declared, GraphQLList):
            count = random.randint(0, 3)
            items = (self.literal(declared.of_type, random, request, depth) for _ in range(count))
            return f"[{', '.join(items)}]"
        if isinstance(declared, GraphQLInputObjectType):
            members = (
                f"{name}: {self.literal(member, random, request, depth + 1)}"
                for name, member in _provided(declared, random, depth)
            )
            return "{" + ", ".join(members) + "}"
        value = self._leaf(declared, random)
        return value if isinstance(declared, GraphQLEnumType) else _literal_of(value)

    def _drawn_variable(self, declared: GraphQLInputType, random: Random, request: Request) -> str:
        roll = random.random()
        may_be_null = not isinstance(declared, GraphQLNonNull) or roll < 0.01
        if roll < 0.02:
            return request.variable(str(declared), {"wrong": [None]})
        if roll < 0.12 and may_be_null:
            return request.variable(str(declared), None)
        if roll < 0.3:
            default = self._default(_nullable(declared), random)
            value = ... if random.random() < 0.6 else self._json(declared, random, 0)
            return request.variable(f"{declared} = {default}", value)
        if roll < 0.36 and may_be_null:
            return request.variable(str(declared), ...)
        return request.variable(str(declared), self._json(declared, random, 0))

    def _default(self, declared: GraphQLInputType, random: Random) -> str:
        if isinstance(declared, GraphQLList):
            if random.random() < 0.6:
                return "[]"
            return self._default(
                _nullable(declared.of_type), random
            )  # one item, which is coerced to a list
        if isinstance(declared, GraphQLInputObjectType):
            return "{}" if random.random() < 0.1 else "null"
        value = self._leaf(declared, random)
        return value if isinstance(declared, GraphQLEnumType) else _literal_of(value)

    def _json(self, declared: GraphQLInputType, random: Random, depth: int) -> Any:
        if isinstance(declared, GraphQLNonNull):
            declared = declared.of_type
        elif random.random() < 0.1:
            return None
        if isinstance(declared, GraphQLList):
            return [
                self._json(declared.of_type, random, depth) for _ in range(random.randint(0, 4))
            ]
        if isinstance(declared, GraphQLInputObjectType):
            return {
                name: self._json(member, random, depth + 1)
                for name, member in _provided(declared, random, depth)
            }
        return self._leaf(declared, random)

    def _leaf(self, declared: Any, random: Random) -> Any:
        if isinstance(declared, GraphQLEnumType):
            return random.choice(list(declared.values))
        return self._values[declared.name](random)


def _provided(
    declared: GraphQLInputObjectType, random: Random, depth: int
) -> list[tuple[str, GraphQLInputType]]:
    """The fields to provide, with their types; of a one-of input usually one that is not null."""
    definition = declared.extensions.get("strawberry-definition")
    if definition is not None and definition.is_one_of and random.random() < 0.9:
        name = random.choice(list(declared.fields))
        return [(name, GraphQLNonNull(_nullable(declared.fields[name].type)))]
    return [
        (name, member.type)
        for name, member in declared.fields.items()
        if is_required_input_field(member) or random.random() < (0.5 if depth < 2 else 0)
    ]


def _literal_of(value: Any) -> str:
    """A value as a GraphQL literal, whose names are not quoted."""
    if isinstance(value, dict):
        members = (f"{name}: {_literal_of(member)}" for name, member in value.items())
        return "{" + ", ".join(members) + "}"
    return json.dumps(value)


def _nullable(declared: GraphQLInputType) -> Any:
    return declared.of_type if isinstance(declared, GraphQLNonNull) else declared
