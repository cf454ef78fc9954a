"""Which documents are too large to be looked at. Knows sizes, no schema."""

from dataclasses import dataclass

from graphql import DocumentNode, GraphQLError, OperationDefinitionNode

from gateway.graphql_request import RequestRefused
from gateway.graphql_size import Measure


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Bounds of one document. The fields and aliases of fragments count where they are spread."""

    chars_max: int = 100_000
    tokens_max: int = 10_000
    comments_max: int = 1_000
    depth_max: int = 15
    fields_max: int = 1_000
    aliases_max: int = 200
    spreads_max: int = 200
    operations_max: int = 50
    introspections_max: int = 5
    # 500 fields of one name took the rule that merges them 0.6 s, 200 (40,000 pairs) 0.1 s.
    comparisons_max: int = 40_000


def require_within(document: DocumentNode, limits: DocumentLimits) -> None:
    """Let only documents pass that validation can judge in bounded time.

    Raises RequestRefused GRAPHQL_VALIDATION_FAILED naming every bound that is broken.
    """
    found = Measure(document)
    operations = sum(isinstance(node, OperationDefinitionNode) for node in document.definitions)
    bounds = [
        ("nests fields {} deep", found.spread_out.depth, limits.depth_max),
        ("selects {} fields", max(found.spread_out.fields, found.fields), limits.fields_max),
        ("uses {} aliases", found.spread_out.aliases, limits.aliases_max),
        ("spreads {} fragments", found.spreads, limits.spreads_max),
        ("holds {} operations", operations, limits.operations_max),
        (
            "asks {} times for the schema",
            found.spread_out.introspections,
            limits.introspections_max,
        ),
        ("repeats field names in {} pairs", found.comparisons, limits.comparisons_max),
    ]
    broken = [
        GraphQLError(f"The document {what.format(_shown(size))}; {allowed:,} are allowed.")
        for what, size, allowed in bounds
        if size > allowed
    ]
    if broken:
        raise RequestRefused("GRAPHQL_VALIDATION_FAILED", broken)


def _shown(size: int) -> str:
    # Doubling fragments reach numbers with hundreds of digits.
    return f"{size:,}" if size < 1_000_000 else "over a million"
