"""The limits of an engine."""

from collections.abc import Callable, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Limits on documents and operations, and sizes of caches.

    Document limits are checked before anything is cached, so a huge document costs one scan. The
    defaults allow the standard introspection query.
    """

    max_characters: int = 100_000
    max_tokens: int = 4_000
    """A token takes 3.5 µs to parse, without a pause."""
    max_comments: int = 1_000
    max_literal_characters: int = 20_000
    """The total length of strings and comments, whose characters take 0.1 to 0.3 µs to parse."""
    max_name_characters: int = 500
    """The length of a name or alias. The path of each error repeats the aliases above it."""
    max_depth: int = 15
    max_fields: int = 1_000
    """Fields after expanding every fragment spread."""
    max_aliases: int = 200
    max_directives: int = 200
    max_fragments: int = 100
    max_spreads: int = 200
    max_operations: int = 50
    max_introspections: int = 5
    schema_texts: Set[str] = frozenset()
    """Names of fields that return the schema's text. Each counts as an introspection."""
    max_comparisons: int = 40_000
    """Pairs of fields with the same name and subselections."""
    max_merge_steps: int = 20_000
    """The steps in which validation checks whether fields can be merged; 0.1 to 0.5 µs each."""
    max_coerced_values: int = 4_000
    """List items and object keys of the variables that graphql-core coerces; 4 to 8 µs each,
    without a pause. Values that already have their coerced form do not count, except in a list of
    more than 1,000 input objects."""
    max_subscription_characters: int = 16_384
    """The characters of the texts in the variables of a subscription, which keeps them. A list item
    or object key counts as 16 more."""
    max_errors: int = 5
    """The number of errors after which validation, and the coercion of variables, stop. An error of
    coercion takes 0.1 ms."""
    max_error_characters: int = 4_000
    """The total length of the messages of validation errors after which validation stops. A message
    may print a literal of 4,000 tokens, which takes 12 ms."""

    document_weight: float = 0
    """The cost of preparing any document, besides `token_weight` for each token and
    `character_weight` for each character."""
    token_weight: float = 0
    character_weight: float = 0
    request_weight: float = 0
    """The cost of any operation, to which the weights of its fields are added."""
    introspection_weight: float = 1
    """The cost of one `__schema` or `__type`."""
    mutation_weight: float = 0
    """The cost of each root field of a mutation, besides the weight that it declares."""

    key_character_weight: float = 0
    """The cost of writing one character of a response key, for each row, after its first 50."""

    max_rows: int = 100_000
    """The maximum number of objects and list items in one result. An error counts as ten."""
    max_field_errors: int = 1_000
    """The maximum number of field errors in one result; each takes 40 µs."""
    max_bytes: int = 8_000_000
    """The maximum length of a result as JSON, estimated while it is built."""

    cached_documents: int = 1_000
    """Also the number of rejected documents whose errors are cached."""
    cached_characters: int = 1_000_000
    """The total text of all cached documents. A parsed document takes about a hundred times as
    much memory, besides its plans and costs."""
    cached_fields: int = 50_000
    """The fields of all cached plans and costs: each counts at every spread of its fragment, and
    for every combination of conditions. A field takes 1.6 to 2.6 KB, all of them up to 130 MB."""

    plans_per_operation: int = 16
    """One plan for each combination of the variables in @skip and @include."""

    expected_errors: tuple[type[Exception], ...] = ()
    """Exceptions of resolvers whose tracebacks nobody reads, so field errors do not keep them. With
    its traceback, an error in a result is a reference cycle."""

    trace: Callable[[str], AbstractContextManager[object]] | None = None
    """Wraps each wait for a field, except for the future of a `Deferred`; called with the field's
    response key."""

    orjson_datetimes: bool = True
    """Leave UTC datetimes in the data for orjson, which writes the same bytes as isoformat does.

    Turn this off if another library serialises the result.
    """
