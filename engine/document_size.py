"""The size of a document, from its syntax alone, and the errors of documents that are too large.

A fragment counts each time it is spread (a "fragment bomb" doubles with every level) but is
measured once, so measuring is linear in the document. Cycles and unknown fragments count nothing
here: validation reports them.
"""

from collections import Counter
from collections.abc import Iterator, Set
from typing import NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)

from engine.errors import ErrorCode, coded_error
from engine.settings import EngineSettings


class SelectionSize(NamedTuple):
    """The size of a selection with its fragments expanded."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    introspections: int = 0

    def plus(self, other: "SelectionSize") -> "SelectionSize":
        return SelectionSize(
            max(self.depth, other.depth),
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.introspections + other.introspections,
        )

    def nested_in(self, field: FieldNode, schema_texts: Set[str]) -> "SelectionSize":
        """The size of `field` if this is the size of its selection."""
        aliases = int(field.alias is not None)
        # Introspection nests deeper than data, and graphql-core has its own rule for it.
        if field.name.value in ("__schema", "__type"):
            return SelectionSize(1, 1, aliases, 1)
        texts = int(field.name.value in schema_texts)
        return SelectionSize(
            self.depth + 1, self.fields + 1, self.aliases + aliases, self.introspections + texts
        )


_EMPTY = SelectionSize()
_LEAF = SelectionSize(1, 1)


class DocumentSize:
    """Measures one document once; read its attributes afterwards.

    `expanded`, with fragments expanded, is the sum over all operations, and the greatest depth.
    `fields`, `spreads` and `comparisons` count the document's text; `field_counts` counts its
    fields by name. A comparison is a pair of fields with the same response key that have
    subselections, which the validation rule for overlapping fields may compare. Fields named in
    `schema_texts` also count as introspections.
    """

    def __init__(self, document: DocumentNode, schema_texts: Set[str] = frozenset()) -> None:
        self._schema_texts = schema_texts
        self._fragments = {
            node.name.value: node.selection_set
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._fragment_sizes: dict[str, SelectionSize] = {}
        self._compared_fields: Counter[str] = Counter()
        self.field_counts: Counter[str] = Counter()
        self._spread_counts: Counter[str] = Counter()
        for name in self._innermost_first():
            self._fragment_sizes[name] = self._size(self._fragments[name])
        self.expanded = SelectionSize()
        for node in document.definitions:
            if isinstance(node, OperationDefinitionNode):
                self.expanded = self.expanded.plus(self._size(node.selection_set))
        self.fields = self.field_counts.total()
        self.spreads = self._spread_counts.total()
        self.comparisons = sum(count * count for count in self._compared_fields.values())

    def repeats(self, field_name: str) -> bool:
        """Whether an operation may select fields with this name in several places."""
        return self.field_counts[field_name] > 1 or max(self._spread_counts.values(), default=0) > 1

    def _size(self, selections: SelectionSetNode) -> SelectionSize:
        """The size of a selection. Also counts its fields and spreads, so each selection is
        measured once."""
        # The parser limits the nesting of a definition to 200, and fragments are looked up, so this
        # recursion is bounded.
        depth = fields = aliases = introspections = 0
        for node in selections.selections:
            inner = self._node_size(node)
            depth = max(depth, inner[0])
            fields += inner[1]
            aliases += inner[2]
            introspections += inner[3]
        return SelectionSize(depth, fields, aliases, introspections)

    def _node_size(self, node: SelectionNode) -> SelectionSize:
        if isinstance(node, FragmentSpreadNode):
            self._spread_counts[node.name.value] += 1
            return self._fragment_sizes.get(node.name.value, _EMPTY)
        inner: SelectionSetNode | None = getattr(node, "selection_set", None)
        size = _EMPTY if inner is None else self._size(inner)
        if not isinstance(node, FieldNode):
            return size
        name = node.name.value
        self.field_counts[name] += 1
        if inner is not None:
            self._compared_fields[(node.alias or node.name).value] += 1
        elif node.alias is None and name not in self._schema_texts and name[:2] != "__":
            return _LEAF  # the usual case
        return size.nested_in(node, self._schema_texts)

    def _innermost_first(self) -> list[str]:
        """The fragments' names, each after those that it spreads. Iterative, because a chain of a
        thousand fragments would exceed the recursion limit."""
        done: dict[str, None] = {}
        seen: set[str] = set()
        for root in self._fragments:
            path = [(root, iter((root,)))] if root not in seen else []
            while path:
                name, inner = path[-1]
                spread = next(inner, None)
                if spread is None:
                    path.pop()
                    done[name] = None
                elif spread in self._fragments and spread not in seen:
                    seen.add(spread)
                    path.append((spread, iter(_spread_names(self._fragments[spread]))))
        return list(done)


def _spread_names(selections: SelectionSetNode) -> list[str]:
    return list(_fragments_spread_in(selections))


def _fragments_spread_in(selections: SelectionSetNode) -> Iterator[str]:
    """The names of the fragments that are spread in a selection, at any depth."""
    for node in selections.selections:
        if isinstance(node, FragmentSpreadNode):
            yield node.name.value
        elif (inner := getattr(node, "selection_set", None)) is not None:
            yield from _fragments_spread_in(inner)


def size_errors(
    document: DocumentNode, size: DocumentSize, settings: EngineSettings
) -> list[GraphQLError]:
    """An error for each exceeded limit. Validation of a document within them takes bounded time."""
    expanded = size.expanded
    operations = sum(isinstance(node, OperationDefinitionNode) for node in document.definitions)
    bounds = [
        ("nests fields in {} levels", expanded.depth, settings.max_depth),
        ("has {} fields", max(expanded.fields, size.fields), settings.max_fields),
        ("has {} aliases", expanded.aliases, settings.max_aliases),
        ("spreads {} fragments", size.spreads, settings.max_spreads),
        ("has {} operations", operations, settings.max_operations),
        ("requests the schema {} times", expanded.introspections, settings.max_introspections),
        ("repeats field names in {} pairs", size.comparisons, settings.max_comparisons),
    ]
    return [
        limit_error(what.format(_formatted(count)), maximum)
        for what, count, maximum in bounds
        if count > maximum
    ]


def limit_error(what: str, allowed: int) -> GraphQLError:
    """Return the error that says what the document does and how much is allowed."""
    message = f"The document {what}; at most {allowed:,} are allowed."
    return coded_error(message, ErrorCode.DOCUMENT_LIMIT_EXCEEDED)


def _formatted(count: int) -> str:
    # Fragments that double on each level reach numbers with hundreds of digits.
    return f"{count:,}" if count < 1_000_000 else "over a million"
