"""Generate operations for any schema.

A schema needs functions that draw its leaf values:

    Operations(schema._schema, {"ID": lambda random: random.choice(ids)}).draw(Random(7))

A function may also draw the whole value of an argument: its key is as `User.relationWith.ids`.
Fragments, aliases, merged fields, directives, introspection, variables (absent, null, wrong, inside
lists and objects) and a few invalid documents are always generated.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    OperationType,
    get_named_type,
    is_composite_type,
    is_required_argument,
)

from tests.support.random_inputs import Draw, Inputs, Request

INTROSPECTIONS = (
    "__schema { queryType { name } }",
    '__type(name: "Query") { kind fields { name } }',
)

Allowed: TypeAlias = Callable[[GraphQLField], bool]


class Operations:
    """Draws operations of one schema. `allowed` may leave out fields. `often` has by type name a
    selection that is added to 30% of the selections of the type."""

    def __init__(
        self,
        schema: GraphQLSchema,
        values: Mapping[str, Draw],
        allowed: Allowed = lambda field: True,
        max_depth: int = 4,
        often: Mapping[str, str] | None = None,
    ) -> None:
        self._schema = schema
        self._values = values
        self._inputs = Inputs(values)
        self._allowed = allowed
        self._max_depth = max_depth
        self._often = often or {}

    def draw(self, random: Random, kind: OperationType = OperationType.QUERY) -> Request:
        request = Request(kind=kind.value)
        root = self._schema.get_root_type(kind)
        assert root is not None
        request.selection = self._selection(root, random, request, 0)
        return request

    def _selection(self, on: GraphQLNamedType, random: Random, request: Request, depth: int) -> str:
        count = random.randint(1, 4 if depth < self._max_depth else 2)
        parts = [self._part(on, random, request, depth) for _ in range(count)]
        if on.name in self._often and random.random() < 0.3:
            parts.append(self._often[on.name])
        return "{ " + " ".join(filter(None, parts)) + " __typename }"

    def _part(self, on: GraphQLNamedType, random: Random, request: Request, depth: int) -> str:
        roll = random.random()
        if roll < 0.12 and depth < self._max_depth:
            return self._fragment(on, random, request, depth)
        if roll < 0.16 or isinstance(on, GraphQLUnionType):
            return self._alias(random, request) + "__typename" + self._directive(random, request)
        if on is self._schema.query_type and random.random() < 0.03:
            return random.choice(INTROSPECTIONS)
        text = self._field(on, random, request, depth)
        # A field that is selected twice is merged, so its arguments must be equal.
        return f"{text} {text}" if roll > 0.95 and "{" not in text else text

    def _fragment(self, on: GraphQLNamedType, random: Random, request: Request, depth: int) -> str:
        condition = random.choice(self._conditions(on))
        selection = self._selection(condition, random, request, depth + 1)
        directive = self._directive(random, request)
        if random.random() < 0.5:
            head = f"on {condition.name}" if condition is not on or random.random() < 0.5 else ""
            return f"... {head}{directive} {selection}"
        request.fragments.append((condition.name, selection))
        spread = f"...F{len(request.fragments) - 1}"
        return f"{spread}{directive}" + (f" {spread}" if random.random() < 0.2 else "")

    def _conditions(self, on: GraphQLNamedType) -> list[GraphQLNamedType]:
        if isinstance(on, (GraphQLInterfaceType, GraphQLUnionType)):
            return [on, *self._schema.get_possible_types(on)] * 2
        assert isinstance(on, GraphQLObjectType)
        return [on, *on.interfaces]

    def _field(self, on: GraphQLNamedType, random: Random, request: Request, depth: int) -> str:
        assert isinstance(on, (GraphQLObjectType, GraphQLInterfaceType))
        is_deep = depth >= self._max_depth
        names = [
            name
            for name, definition in on.fields.items()
            if self._allowed(definition)
            and not (is_deep and is_composite_type(get_named_type(definition.type)))
        ]
        if not names:
            return ""
        name = random.choice(names)
        definition = on.fields[name]
        arguments = self._arguments(f"{on.name}.{name}", definition, random, request)
        text = self._alias(random, request, definition.args) + name + arguments
        text += self._directive(random, request)
        below = get_named_type(definition.type)
        if is_composite_type(below):
            text += " " + self._selection(below, random, request, depth + 1)
        return "nonsense" if random.random() < 0.001 else text

    def _alias(self, random: Random, request: Request, arguments: Any = ()) -> str:
        # Fields with arguments always get an alias, because their arguments may differ.
        number = next(request.names)
        if random.random() < 0.002:
            number //= 2  # a name that another field may have already
        return f"a{number}: " if arguments or random.random() < 0.15 else ""

    def _directive(self, random: Random, request: Request) -> str:
        if random.random() > 0.06:
            return ""
        names = random.choice((["skip"], ["include"], ["include", "skip"], ["skip", "include"]))
        return "".join(f" @{name}(if: {self._switch(random, request)})" for name in names)

    def _switch(self, random: Random, request: Request) -> str:
        roll, value = random.random(), random.random() < 0.5
        if roll < 0.5:
            return random.choice(("true", "false"))
        if roll > 0.6:
            return request.variable("Boolean!", value)
        default = random.choice(("true", "false"))
        return request.variable(f"Boolean = {default}", random.choice((value, ..., ..., None)))

    def _arguments(
        self, place: str, definition: GraphQLField, random: Random, request: Request
    ) -> str:
        given = [
            f"{name}: {self._argument(f'{place}.{name}', argument, random, request)}"
            for name, argument in definition.args.items()
            if random.random() < 0.6 or (is_required_argument(argument) and random.random() < 0.999)
        ]
        return f"({', '.join(given)})" if given else ""

    def _argument(
        self, place: str, argument: GraphQLArgument, random: Random, request: Request
    ) -> str:
        draw = self._values.get(place)
        if draw is None:
            return self._inputs.literal(argument.type, random, request, 0)
        return request.variable(str(argument.type), draw(random))
