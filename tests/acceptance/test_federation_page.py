"""The queries of the page about federation return what it shows, and its shared names are right."""

import re

import pytest

from schema.federation import subgraph
from schema.schema import schema
from storage.stores import Stores
from tests.support.documentation import examples, found, page, promised
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def world(stores: Stores) -> None:
    await follows(stores, (2, 1), (3, 1), (4, 1), (5, 1), (1, 5), (6, 8), (7, 8))
    await drain_all(stores)


@pytest.mark.usefixtures("world")
async def test_every_example_answers_what_the_page_shows(gateway: Gateway) -> None:
    shown = examples("federation")
    assert len(shown) == 2
    for example in shown:
        data = await example.ask(gateway)
        assert example.data in (None, data), example.document
        assert found(data, "outcome") == promised(example.document)


def test_the_page_says_what_is_marked_in_the_subgraph() -> None:
    marked = re.findall(
        r"^(type \w+)(?: implements \w+)? (@.*?) \{", subgraph(schema), re.MULTILINE
    )
    for head, mark in marked:
        assert f"`{head} {mark}`" in page("federation")
    assert len(marked) == 2
