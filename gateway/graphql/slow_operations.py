"""The log of slow operations."""

import logging
from collections.abc import Callable
from hashlib import sha256
from time import monotonic

from graphql import FieldNode, FragmentSpreadNode, InlineFragmentNode, SelectionSetNode

from engine import Operation, Unsupported
from gateway.graphql.request import GraphQLRequest
from telemetry.entry_limit import EntryLimit

log = logging.getLogger("kith.slow")

LEVELS_MAX = 15
"""The log entry counts the fields of this many levels, from the top."""

FIELDS_MAX = 1_000
"""Counting stops when this many fields are found: levels may be incomplete or missing."""


class SlowOperationLog:
    """Logs slow operations, as many as `EntryLimit` admits. `now` returns seconds."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._limit = EntryLimit(now)

    def add(
        self,
        operation: Operation | None,
        request: GraphQLRequest | None,
        code: str,
        seconds: float,
        cost: int | None,
    ) -> None:
        """Log an operation that took `seconds`: its name, document, cost, plan and fields, and no
        values of its arguments."""
        if not self._limit.admit():
            return
        fields: dict[str, object] = {"code": code, "duration_ms": round(seconds * 1000, 1)}
        fields |= self._limit.take_omitted()
        if request is not None and request.query:
            fields["document"] = sha256(request.query.encode("utf-8", "surrogatepass")).hexdigest()
        if operation is not None:
            fields |= _of_operation(operation)
        if cost is not None:
            fields["cost"] = cost
        log.warning("slow operation", extra=fields)


def _of_operation(operation: Operation) -> dict[str, object]:
    plans = operation.plans.values()
    unsupported = {plan.reason for plan in plans if isinstance(plan, Unsupported)}
    return {
        "operation": operation.name,
        "kind": operation.kind.value,
        "plan": ", ".join(["engine", *sorted(f"graphql-core: {why}" for why in unsupported)]),
        "levels": _fields_by_level(operation),
    }


def _fields_by_level(operation: Operation) -> list[int]:
    """The number of fields at each depth, with those of fragments."""
    counts: list[int] = []
    level: list[SelectionSetNode] = [operation.node.selection_set]
    while level and len(counts) < LEVELS_MAX and sum(counts) < FIELDS_MAX:
        fields: list[FieldNode] = []
        sets = level
        while sets and len(fields) < FIELDS_MAX:
            selections = [one for selected in sets for one in selected.selections]
            fields += [one for one in selections if isinstance(one, FieldNode)]
            sets = [
                _selections_of_fragment(operation, one)
                for one in selections
                if isinstance(one, FragmentSpreadNode | InlineFragmentNode)
            ]
        counts.append(len(fields))
        level = [one.selection_set for one in fields if one.selection_set is not None]
    return counts


def _selections_of_fragment(
    operation: Operation, node: FragmentSpreadNode | InlineFragmentNode
) -> SelectionSetNode:
    if isinstance(node, FragmentSpreadNode):
        return operation.fragments[node.name.value].selection_set
    return node.selection_set
