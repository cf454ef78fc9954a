"""Documents leave little for the garbage collector, which stops the process while it works."""

import contextlib

import pytest

from engine import Engine, EngineSettings, RequestError
from tests.support.garbage import counting_cycles
from tests.support.small_schema import schema

DOCUMENTS = 50

OBJECTS_PER_DOCUMENT = 10
"""Objects in reference cycles. graphql-core's own visitors leave about 1,000 for each document."""


@pytest.mark.parametrize(
    "document",
    [
        '{{ a{n}: user(id: "1") {{ id }} }}',
        "query($skip: Boolean!) {{ a{n}: user(id: 1) {{ id @skip(if: $skip) }} }}",
        "{{ a{n}: user(id: 1) {{ ...F }} }} fragment F on User {{ id }}",
        "{{ a{n}: missing }}",
    ],
    ids=["valid", "with a condition", "with a fragment", "invalid"],
)
def test_a_document_leaves_few_objects_to_the_garbage_collector(document: str) -> None:
    engine = Engine(schema, EngineSettings(cached_documents=1))
    _prepare(engine, document.format(n=DOCUMENTS))  # fills the caches
    with counting_cycles() as cycles:
        for number in range(DOCUMENTS):
            _prepare(engine, document.format(n=number))
    assert cycles.objects <= OBJECTS_PER_DOCUMENT * DOCUMENTS


def _prepare(engine: Engine, document: str) -> None:
    with contextlib.suppress(RequestError):
        engine.prepare(document)
