"""Costs that depend on variables: trees of sums and products, mostly constants."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from engine.list_size import Coerced, Size


class Cost(NamedTuple):
    """A cost that depends on variables: a constant, and terms that are added to it."""

    constant: float
    terms: tuple["Term", ...] = ()

    def evaluate(self, coerced: Coerced) -> float:
        """The cost for these variables."""
        total = self.constant
        for size, options in self.terms:
            greatest = 0.0
            for option in options:  # a loop, because a generator is resumed for each
                cost = option.evaluate(coerced) if option.terms else option.constant
                greatest = max(greatest, cost)
            total += greatest * (size if isinstance(size, int) else size.evaluate(coerced))
        return total


class Term(NamedTuple):
    """A size times the greatest of some costs: one cost for each type that the rows may have."""

    size: Size | int
    options: tuple[Cost, ...]


NOTHING = Cost(0)

# Makes a Cost. The constructor of a NamedTuple takes three times as long.
_cost: Callable[[tuple[float, tuple[Term, ...]]], Cost] = partial(tuple.__new__, Cost)


def sum_of(costs: Sequence[Cost]) -> Cost:
    """The sum of costs."""
    constant: float = 0
    terms: tuple[Term, ...] = ()
    for cost in costs:  # a loop, because a generator is resumed for each
        constant += cost[0]
        if cost[1]:
            terms += cost[1]
    return _cost((constant, terms))


def times(size: Size | int, options: Sequence[Cost]) -> Cost:
    """`size` times the greatest of `options`."""
    if len(options) == 1 and isinstance(size, int):  # the usual case
        ((constant, terms),) = options
        if not terms:
            return _cost((constant * size, ()))
        if size == 1 and not constant:
            return options[0]
    greatest = max((option.constant for option in options if not option.terms), default=0.0)
    varying = [option for option in options if option.terms]
    if not varying and isinstance(size, int):
        return Cost(greatest * size)
    if greatest:
        varying.append(Cost(greatest))
    each = tuple(varying) or (NOTHING,)
    return each[0] if size == 1 and len(each) == 1 else Cost(0, (Term(size, each),))
