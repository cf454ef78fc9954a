"""The queries in docs/accounts.md return what the page shows."""

import pytest

from storage.stores import Stores
from tests.support.documentation import examples
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Users 2 and 3 follow user 1, who follows user 3."""
    await follows(stores, (2, 1), (3, 1), (1, 3))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_every_example_returns_what_the_page_shows(gateway: Gateway) -> None:
    page_examples = examples("accounts")
    assert len(page_examples) == 7
    for example in page_examples:
        data = await example.ask(gateway)
        assert example.data in (None, data), example.document
