"""The size of a document, from its syntax alone.

A fragment counts each time it is spread (a "fragment bomb" doubles with every level) but is
measured once, so measuring is linear in the document. Cycles and unknown fragments count nothing
here: validation reports them.
"""

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a selection with its fragments expanded."""

    depth: int = 0
    fields: int = 0
    aliases: int = 0
    introspections: int = 0

    def beside(self, other: "Size") -> "Size":
        return Size(
            max(self.depth, other.depth),
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.introspections + other.introspections,
        )

    def below(self, field: FieldNode, schema_texts: Set[str]) -> "Size":
        """The size of `field` if this is the size of its selection."""
        aliases = int(field.alias is not None)
        # Introspection nests deeper than data, and graphql-core has its own rule for it.
        if field.name.value in ("__schema", "__type"):
            return Size(1, 1, aliases, 1)
        texts = int(field.name.value in schema_texts)
        return Size(
            self.depth + 1, self.fields + 1, self.aliases + aliases, self.introspections + texts
        )


class Measure:
    """Measures one document once; read its attributes afterwards.

    `spread_out` is the sum over all operations with fragments expanded. `fields`, `spreads` and
    `comparisons` count the document's text; `written` counts it by field name. A comparison is a
    pair of fields with the same name and subselections, which the validation rule for overlapping
    fields may compare. Fields named in `schema_texts` also count as introspections.
    """

    def __init__(self, document: DocumentNode, schema_texts: Set[str] = frozenset()) -> None:
        self._schema_texts = schema_texts
        self._fragments = {
            node.name.value: node.selection_set
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._known: dict[str, Size] = {}
        self._compared: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self._spread: Counter[str] = Counter()
        for name in self._innermost_first():
            self._known[name] = self._size(self._fragments[name])
        self.spread_out = Size()
        for node in document.definitions:
            if isinstance(node, OperationDefinitionNode):
                self.spread_out = self.spread_out.beside(self._size(node.selection_set))
        self.fields = self.written.total()
        self.spreads = self._spread.total()
        self.comparisons = sum(count * count for count in self._compared.values())

    def repeats(self, field_name: str) -> bool:
        """Whether an operation may select fields with this name in several places."""
        return self.written[field_name] > 1 or any(n > 1 for n in self._spread.values())

    def _size(self, selections: SelectionSetNode) -> Size:
        # The parser limits the nesting of a definition to 200, and fragments are looked up, so this
        # recursion is bounded.
        size = Size()
        for node in selections.selections:
            size = size.beside(self._size_of(node))
        return size

    def _size_of(self, node: SelectionNode) -> Size:
        if isinstance(node, FragmentSpreadNode):
            self._spread[node.name.value] += 1
            return self._known.get(node.name.value, Size())
        inner: SelectionSetNode | None = getattr(node, "selection_set", None)
        size = self._size(inner) if inner is not None else Size()
        if not isinstance(node, FieldNode):
            return size
        self.written[node.name.value] += 1
        if inner is not None:
            self._compared[(node.alias or node.name).value] += 1
        return size.below(node, self._schema_texts)

    def _innermost_first(self) -> list[str]:
        """The fragments' names, each after those that it spreads. Iterative, because a chain of a
        thousand fragments would exceed the recursion limit."""
        done: dict[str, None] = {}
        seen: set[str] = set()
        for root in self._fragments:
            path = [(root, iter((root,)))] if root not in seen else []
            while path:
                name, inner = path[-1]
                following = next(inner, None)
                if following is None:
                    path.pop()
                    done[name] = None
                elif following in self._fragments and following not in seen:
                    seen.add(following)
                    path.append((following, iter(_spreads(self._fragments[following]))))
        return list(done)


def _spreads(selections: SelectionSetNode) -> list[str]:
    return list(_walk(selections))


def _walk(selections: SelectionSetNode) -> Iterator[str]:
    for node in selections.selections:
        if isinstance(node, FragmentSpreadNode):
            yield node.name.value
        elif (inner := getattr(node, "selection_set", None)) is not None:
            yield from _walk(inner)
