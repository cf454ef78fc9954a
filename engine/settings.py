"""The bounds of an engine. Knows nothing of what is bounded."""

from collections.abc import Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What one document may be, what one operation may cost, and how much is remembered.

    The limits on documents hold before anything is cached, so a giant document costs one scan.
    The defaults let the standard introspection query pass.
    """

    max_characters: int = 100_000
    max_tokens: int = 10_000
    max_comments: int = 1_000
    max_depth: int = 15
    max_fields: int = 1_000
    """Fields after every fragment is written out in place."""
    max_aliases: int = 200
    max_spreads: int = 200
    max_operations: int = 50
    max_introspections: int = 5
    schema_texts: Set[str] = frozenset()
    """Names of fields that answer with the text of the schema: each is as dear as introspection."""
    max_comparisons: int = 40_000
    """Pairs of fields of one name that both select something: 200 such fields take the rule that
    merges them 0.1 s, 500 take it 0.6 s."""
    max_errors: int = 20
    """Mistakes that validation lists before it gives up."""

    max_rows: int = 100_000
    """Objects and list items that one answer may hold; an error counts as ten of them."""

    cached_documents: int = 1_000
    cached_characters: int = 1_000_000
    """The text of all cached documents; what is made of it takes about a hundred times as much."""

    plans_per_operation: int = 16
    """One plan for each combination of the booleans given to @skip and @include."""

    orjson_datetimes: bool = True
    """Leave UTC datetimes in the data for orjson, which writes the same bytes as isoformat does.

    Turn this off where anything but orjson serialises the answer.
    """
