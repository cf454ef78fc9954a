"""The queries of docs/accounts.md return what the page says."""

import pytest

from storage.stores import Stores
from tests.support.documentation import examples
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def world(stores: Stores) -> None:
    """Users 2 and 3 follow user 1, who follows user 3."""
    await follows(stores, (2, 1), (3, 1), (1, 3))
    await drain_all(stores)


@pytest.mark.usefixtures("world")
async def test_every_example_answers_what_the_page_shows(gateway: Gateway) -> None:
    shown = examples("accounts")
    assert len(shown) == 7
    for example in shown:
        answer = await example.ask(gateway)
        assert example.data in (None, answer), example.document
