"""The static cost of an operation: what it can cost at most, from its document and its variables.

The cost of a selection for `n` rows is `fixed + n * each`. `fixed` is the sum of the weights that
count once for each place in the document; `each` adds up what every row costs, in which the
selection of a list counts as often as the list has items. Page sizes and lengths of lists may be
variables, so `each` is a tree that is evaluated with them (`engine.cost_expression`).

Compiling takes linear time: the fields of a fragment are visited once for each spread, and the
selection of a field once for each type of its parents.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
)

from engine.compiled import Compiled, CompiledCache
from engine.conditions import may_be_included
from engine.cost_expression import NOTHING, Cost, sum_of, times
from engine.list_size import Coerced, Size, list_size
from engine.settings import EngineSettings
from engine.weights import PAGE, Weight, if_given, weight_of

SHORT_KEY = 50
"""The weight of a row includes the characters of a response key up to this length."""


class SelectionCost(NamedTuple):
    """The cost of a selection: `fixed` for each place in the document, and `each` for every row."""

    fixed: float
    each: Cost


@dataclass(slots=True, eq=False)
class OperationCost:
    """The cost of one operation. It is compiled when it is first evaluated."""

    schema: GraphQLSchema
    settings: EngineSettings
    cache: CompiledCache
    fragments: Mapping[str, FragmentDefinitionNode]
    node: OperationDefinitionNode
    conditions: tuple[str, ...]
    """The variables in @skip and @include."""

    constant: int | None = None
    """The cost, after the first evaluation, if it does not depend on variables."""
    waiting_cost: float = inf
    """The part of the cost for waiting for the stores, while other operations run. A lower bound if
    conditions or fragments change it. Infinite until the cost is compiled."""
    compiled: Compiled[Cost] = field(default_factory=Compiled)
    """The compiled costs, by the values of `conditions`."""

    def is_compiled(self, coerced: Coerced) -> bool:
        """Whether the cost is compiled for these values of the conditions."""
        return tuple(map(coerced.get, self.conditions)) in self.compiled

    def evaluate(self, coerced: Coerced) -> int:
        """Return the cost for these variables. Compile and cache it first if needed."""
        key = tuple(map(coerced.get, self.conditions))
        cost = self.compiled.get(key)
        if cost is None:
            cost = self.compile(key)
        else:
            self.compiled.is_used = True
        total = ceil(cost.evaluate(coerced))
        if not (cost.terms or self.conditions):
            self.constant = total
        return total

    def compile(self, key: tuple[Any, ...]) -> Cost:
        """Compile the cost for these values of the conditions, and cache it."""
        conditions = dict(zip(self.conditions, key, strict=True))
        compilation = _Compilation(self.schema, self.settings, self.fragments, conditions)
        fixed, each = compilation.operation(self.node)
        cost = Cost(self.settings.request_weight + fixed + each.constant, each.terms)
        self.waiting_cost = min(self.waiting_cost, compilation.waiting_cost)
        self.cache.put(self.compiled, key, cost, 1 + compilation.fields)
        return cost


class _Compilation:
    """Compiles the cost of one operation, for these values of the variables in its conditions."""

    def __init__(
        self,
        schema: GraphQLSchema,
        settings: EngineSettings,
        fragments: Mapping[str, FragmentDefinitionNode],
        conditions: Mapping[str, bool | None],
    ) -> None:
        self._schema = schema
        self._weights = _weights_of(schema)
        self._settings = settings
        self._fragments = fragments
        self._conditions = conditions
        self.fields = 0
        """The number of fields compiled so far; those of a repeated selection count once."""
        self.waiting_cost = 0.0
        """See `OperationCost.waiting_cost`. That of a repeated selection counts once."""
        self._mutation: GraphQLObjectType | None = None
        self._selection_costs: dict[tuple[str, tuple[int, ...], Size | int], SelectionCost] = {}

    def operation(self, node: OperationDefinitionNode) -> SelectionCost:
        """The cost of an operation."""
        root = self._schema.get_root_type(node.operation)
        assert root is not None
        if node.operation is OperationType.MUTATION:
            self._mutation = root
        return self.selection(root, (node.selection_set,))

    def selection(
        self, parent: GraphQLObjectType, sets: Sequence[SelectionSetNode], page: Size | int = 1
    ) -> SelectionCost:
        """The cost of the merged selections of one object type.

        `page`: the size of the page that the object is, if it is one.
        """
        # Only one node is merged in most places, so the same key comes back in every spread.
        key = (parent.name, tuple(map(id, sets)), page)
        cost = self._selection_costs.get(key)
        if cost is None:
            cost = self._selection_costs[key] = self._selection(parent, sets, page)
        return cost

    def _selection(
        self, parent: GraphQLObjectType, sets: Sequence[SelectionSetNode], page: Size | int
    ) -> SelectionCost:
        merged: dict[str, list[FieldNode]] = {}
        seen: set[str] = set()
        for selections in sets:
            for node in self._fields(parent, selections, seen):
                merged.setdefault((node.alias or node.name).value, []).append(node)
        self.fields += len(merged)
        costs = [self._field(parent, nodes, page) for nodes in merged.values()]
        row = [each for _, each in costs]
        if long := sum([len(key) - SHORT_KEY for key in merged if len(key) > SHORT_KEY]):
            row.append(Cost(long * self._settings.key_character_weight))
        return SelectionCost(sum(fixed for fixed, _ in costs), sum_of(row))

    def _fields(
        self, parent: GraphQLObjectType, selections: SelectionSetNode, seen: set[str]
    ) -> Iterator[FieldNode]:
        """The fields that may be included in objects of type `parent`, also those of fragments.
        `seen`: the fragments that were visited, to which it adds: each is visited once."""
        for node in selections.selections:
            if not may_be_included(node, self._conditions):
                continue
            if isinstance(node, FieldNode):
                yield node
                continue
            inner: Any = node
            if isinstance(node, FragmentSpreadNode):
                if node.name.value in seen:
                    continue
                seen.add(node.name.value)
                inner = self._fragments[node.name.value]
            if self._applies(inner.type_condition, parent):
                yield from self._fields(parent, inner.selection_set, seen)

    def _applies(self, condition: Any, parent: GraphQLObjectType) -> bool:
        """Whether a fragment with this type condition applies to objects of type `parent`."""
        if condition is None or condition.name.value == parent.name:
            return True
        declared = self._schema.get_type(condition.name.value)
        return is_abstract_type(declared) and self._schema.is_sub_type(declared, parent)

    def _field(
        self, parent: GraphQLObjectType, nodes: list[FieldNode], page: Size | int
    ) -> SelectionCost:
        """The cost of one response key, which all of `nodes` select."""
        name = nodes[0].name.value
        if name.startswith("__"):
            introspects = name != "__typename"
            return SelectionCost(self._settings.introspection_weight * introspects, NOTHING)
        field_weight = self._weights.get(parent, name)
        is_mutation_root = parent is self._mutation
        # A field that takes only the gateway's own time declares no more than 1 for its call.
        self.waiting_cost += max(field_weight.weight.call - 1, 0)
        self.waiting_cost += self._settings.mutation_weight * is_mutation_root
        if field_weight.constant is not None and not is_mutation_root:
            return field_weight.constant
        weight, node = field_weight.weight, nodes[0]
        pages = 1 if weight.page is None else list_size(node, weight.page)
        fixed, options = 0.0, [NOTHING]
        if field_weight.types:
            sets = [one.selection_set for one in nodes if one.selection_set is not None]
            if _selects_only(field_weight.equal_leaves, sets):
                fixed, each = self.selection(field_weight.types[0], sets, pages)
                fixed, options = fixed * len(field_weight.types), [each]
            else:
                below = [self.selection(possible, sets, pages) for possible in field_weight.types]
                fixed, options = sum([fixed for fixed, _ in below]), [each for _, each in below]
        size = page if weight.size is PAGE else list_size(node, weight.size)
        each_item = [sum_of([Cost(weight.item), option]) for option in options]
        row = weight.row + self._settings.mutation_weight * is_mutation_root
        costs = [Cost(row), times(size, each_item)]
        if weight.entry:
            costs.append(times(pages, [Cost(weight.entry)]))
        if weight.given:
            named = {argument.name.value for argument in node.arguments or ()}
            costs += [
                times(list_size(node, if_given(argument)), [Cost(extra)])
                for argument, extra in weight.given.items()
                if argument.partition(".")[0] in named
            ]
        return SelectionCost(weight.call + fixed, sum_of(costs))


class _FieldWeight(NamedTuple):
    """The weight of a field, with what depends only on the schema."""

    weight: Weight
    types: Sequence[GraphQLObjectType]
    """The possible types of its objects; none if it is a leaf."""
    equal_leaves: Set[str]
    """The leaf fields that have the same constant cost in all these types; empty for an object
    type and for a leaf."""
    constant: SelectionCost | None
    """The cost of the field, if it depends neither on arguments nor on the page around it."""


class _FieldWeights:
    """The weights of the fields of a schema, by type and name."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self._possible_types = schema.get_possible_types
        self._field_weights: dict[tuple[str, str], _FieldWeight] = {}

    def get(self, parent: GraphQLObjectType, name: str) -> _FieldWeight:
        key = (parent.name, name)
        field_weight = self._field_weights.get(key)
        if field_weight is None:
            field_weight = self._field_weights[key] = self._field_weight(parent.fields[name])
        return field_weight

    def _field_weight(self, definition: GraphQLField) -> _FieldWeight:
        weight = weight_of(definition)
        declared: Any = get_named_type(definition.type)
        if isinstance(declared, GraphQLObjectType):
            return _FieldWeight(weight, (declared,), frozenset(), None)
        if not is_leaf_type(declared):
            types = self._possible_types(declared)
            return _FieldWeight(weight, types, self._equal_fields(types), None)
        if weight.page is not None or weight.given or not isinstance(weight.size, int):
            return _FieldWeight(weight, (), frozenset(), None)
        each = sum_of([Cost(weight.row + weight.entry), times(weight.size, [Cost(weight.item)])])
        return _FieldWeight(weight, (), frozenset(), SelectionCost(weight.call, each))

    def _equal_fields(self, types: Sequence[GraphQLObjectType]) -> Set[str]:
        """The leaf fields that all these types have, with the same constant cost."""
        if not types:
            return frozenset()
        costs: dict[str, set[SelectionCost | None]] = {}
        for one in types:
            for name, definition in one.fields.items():
                is_leaf = is_leaf_type(get_named_type(definition.type))
                cost = self.get(one, name).constant if is_leaf else None
                costs.setdefault(name, set()).add(cost)
        shared = frozenset.intersection(*[frozenset(one.fields) for one in types])
        return {name for name in shared if len(costs[name]) == 1 and None not in costs[name]}


def _selects_only(names: Set[str], sets: Sequence[SelectionSetNode]) -> bool:
    """Whether only fields with these names are selected, without fragments."""
    return bool(names) and all(
        isinstance(node, FieldNode) and node.name.value in names
        for selections in sets
        for node in selections.selections
    )


_weights_of_schemas: WeakKeyDictionary[GraphQLSchema, _FieldWeights] = WeakKeyDictionary()


def _weights_of(schema: GraphQLSchema) -> _FieldWeights:
    weights = _weights_of_schemas.get(schema)
    if weights is None:
        weights = _weights_of_schemas[schema] = _FieldWeights(schema)
    return weights
