"""Size limits of documents, checked before validation."""

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode

from engine.errors import ErrorCode, coded
from engine.settings import EngineSettings
from engine.size import Measure


def excess(
    document: DocumentNode, measure: Measure, settings: EngineSettings
) -> list[GraphQLError]:
    """An error for each exceeded limit. Validation of a document within them takes bounded time."""
    found = measure.spread_out
    operations = sum(isinstance(node, OperationDefinitionNode) for node in document.definitions)
    bounds = [
        ("nests fields in {} levels", found.depth, settings.max_depth),
        ("has {} fields", max(found.fields, measure.fields), settings.max_fields),
        ("has {} aliases", found.aliases, settings.max_aliases),
        ("spreads {} fragments", measure.spreads, settings.max_spreads),
        ("has {} operations", operations, settings.max_operations),
        ("requests the schema {} times", found.introspections, settings.max_introspections),
        ("repeats field names in {} pairs", measure.comparisons, settings.max_comparisons),
    ]
    return [
        rejection(what.format(_shown(size)), most) for what, size, most in bounds if size > most
    ]


def rejection(what: str, allowed: int) -> GraphQLError:
    """Return the error that says what the document does and how much is allowed."""
    message = f"The document {what}; at most {allowed:,} are allowed."
    return coded(message, ErrorCode.DOCUMENT_LIMIT_EXCEEDED)


def _shown(size: int) -> str:
    # Fragments that double on each level reach numbers with hundreds of digits.
    return f"{size:,}" if size < 1_000_000 else "over a million"
