"""The queries in docs/federation.md return what it shows, and it lists the shared directives."""

import re

import pytest

from schema.federation import subgraph
from schema.schema import schema
from storage.stores import Stores
from tests.support.documentation import examples, found, page, promised
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def graph(stores: Stores) -> None:
    await follows(stores, (2, 1), (3, 1), (4, 1), (5, 1), (1, 5), (6, 8), (7, 8))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_every_example_returns_what_the_page_shows(gateway: Gateway) -> None:
    page_examples = examples("federation")
    assert len(page_examples) == 2
    for example in page_examples:
        data = await example.ask(gateway)
        assert example.data in (None, data), example.document
        assert found(data, "outcome") == promised(example.document)


def test_the_page_lists_the_types_with_directives() -> None:
    types = re.findall(r"^(type \w+)(?: implements \w+)? (@.*?) \{", subgraph(schema), re.MULTILINE)
    for head, directive in types:
        assert f"`{head} {directive}`" in page("federation")
    assert len(types) == 2
