"""Weights: what a field costs, as its schema declares it.

    @batched(graphql_type=list[User], metadata=weighed(row=80, item=2, size=length_of("ids", 100)))
    def users(roots: Parents[None], ids: list[ID]) -> list[list[UserId]]: ...

`engine.cost_compiler` computes the cost of an operation from them. The unit is the schema's choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from graphql import GraphQLField, get_named_type, is_leaf_type

_KEY = "weight"


@dataclass(frozen=True, slots=True)
class ListSize:
    """How many items a field returns for each parent: the greatest of some arguments.

    `numbers` and `lists` are the names of arguments, or paths into input objects (`input.changes`).
    A number counts as itself and a list as its length; a single value in place of a list is one
    item, whatever it is. If all are omitted or null, it is `default`; it is never more than
    `maximum`, which the resolver must enforce.
    """

    numbers: tuple[str, ...]
    default: int
    maximum: int
    lists: tuple[str, ...] = ()


PAGE = ListSize((), 1, 1)
"""Marks a list whose size is that which the field of its page declares as `page`. Its own numbers
are not used."""


@dataclass(frozen=True, slots=True)
class Weight:
    """The cost of a field: `call` once for each place in the document that selects it, `row` for
    each parent, and `item` for each of the `size` items that it returns for each parent.

    A `call` above 1 is work of stores, for which the operation waits: see
    `OperationCost.waiting_cost`.

    The field of a page (a Relay connection) declares the size of its lists as `page`, and as
    `entry` what each entry costs, whichever fields of the page are selected.
    """

    call: float
    row: float
    item: float
    size: ListSize | int = 1
    page: ListSize | None = None
    entry: float = 0
    given: Mapping[str, float] = field(default_factory=dict)
    """The cost that an argument, or a field of it (`filter.since`), adds to `row` if it is given
    and not null."""


OBJECT = Weight(call=1, row=0.15, item=1)
"""A field of an object type without a declared weight. A list of objects counts as one item."""
LEAF = Weight(call=1, row=0.15, item=0)
"""A field of a scalar or enum type without a declared weight."""


def weighed(
    *,
    call: float = 1,
    row: float = 0.15,
    item: float = 1,
    size: ListSize | int = 1,
    page: ListSize | None = None,
    entry: float = 0,
    given: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Weight]:
    """Return the metadata that declares a field's weight."""
    return {_KEY: Weight(call, row, item, size, page, entry, given)}


def length_of(argument: str, maximum: int) -> ListSize:
    """The length of a list that an argument holds."""
    return ListSize((), 0, maximum, lists=(argument,))


def if_given(argument: str) -> ListSize:
    """1 if an argument is given, otherwise 0."""
    return ListSize((), 0, 1, lists=(argument,))


def weight_of(field: GraphQLField) -> Weight:
    """The weight of a field: the declared one, or the default of its type."""
    declared = field.extensions.get("strawberry-definition")
    weight = declared.metadata.get(_KEY) if declared is not None else None
    if isinstance(weight, Weight):
        return weight
    return LEAF if is_leaf_type(get_named_type(field.type)) else OBJECT
