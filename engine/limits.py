"""How large a document may be. Knows the shape of documents, nothing of schemas or plans."""

from collections import Counter
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
)

from engine.errors import Code, coded
from engine.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Size:
    """What a selection set comes to, with every fragment written out in place."""

    depth: int
    fields: Counter[str]
    """How often each field name is asked."""


NOTHING = Size(0, Counter())


def sizes(document: DocumentNode) -> dict[str | None, Size]:
    """The size of each operation, by name."""
    scale = _Scale(document)
    return {
        node.name.value if node.name else None: scale.weigh(node.selection_set)
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode)
    }


def excess(size: Size, settings: EngineSettings) -> GraphQLError | None:
    """The error to answer an operation with that is too deep or too wide."""
    if size.depth > settings.max_depth:
        return refusal(f"nests fields {size.depth} deep", settings.max_depth)
    if (fields := size.fields.total()) > settings.max_fields:
        return refusal(f"asks for {fields} fields", settings.max_fields)
    return None


def refusal(what: str, allowed: int) -> GraphQLError:
    """One sentence: what the document does, and what is allowed."""
    message = f"The document {what}; at most {allowed} are allowed."
    return coded(message, Code.DOCUMENT_LIMIT_EXCEEDED)


class _Scale:
    """Weighs each fragment once, so a fragment bomb costs as little as its text."""

    def __init__(self, document: DocumentNode) -> None:
        self._known: dict[str, Size] = {}
        self._fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }

    def weigh(self, selections: SelectionSetNode | None) -> Size:
        if selections is None:
            return NOTHING
        depth = 0
        fields: Counter[str] = Counter()
        for selection in selections.selections:
            size = self._of(selection)
            depth = max(depth, size.depth)
            fields.update(size.fields)
        return Size(depth, fields)

    def _of(self, selection: SelectionNode) -> Size:
        if isinstance(selection, FieldNode):
            below = self.weigh(selection.selection_set)
            return Size(below.depth + 1, below.fields + Counter((selection.name.value,)))
        if isinstance(selection, InlineFragmentNode):
            return self.weigh(selection.selection_set)
        assert isinstance(selection, FragmentSpreadNode)
        return self._fragment(selection.name.value)

    def _fragment(self, name: str) -> Size:
        if name not in self._known:
            # Stands for itself while it is being weighed: validation reports cycles, not we.
            self._known[name] = NOTHING
            fragment = self._fragments.get(name)
            if fragment is not None:
                self._known[name] = self.weigh(fragment.selection_set)
        return self._known[name]
