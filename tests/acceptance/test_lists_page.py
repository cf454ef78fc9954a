"""The queries in docs/lists.md return the data that the page shows."""

import pytest

from graph.account import PrivacyChange
from graph.edge import Flags, Kind, UserId
from graph.privacy import Audience
from graph.rules import follow
from storage.stores import Stores
from tests.support.documentation import examples
from tests.support.edges import edges
from tests.support.gateway import Gateway
from tests.support.graphs import PLENTY, as_pair, drain_all, follows


@pytest.fixture
async def graph(stores: Stores) -> None:
    """Write the graph that the page describes."""
    await follows(stores, (3, 1), (4, 1), (5, 1), (1, 7), (1, 2), (6, 4), (3, 2))
    await edges(
        stores,
        {
            (6, 3): (Kind.WHISPER, Flags.CLOSE_FOLLOW),
            (6, 7): (Kind.FOLLOW, Flags.MUTED),
            (6, 10): Kind.BLOCK,
        },
    )
    await stores.writes.accounts.set_privacy(UserId(2), PrivacyChange(followers=Audience.FRIENDS))
    await stores.writes.accounts.set_privacy(UserId(8), PrivacyChange(protected=True))
    await stores.writes.edges.change(as_pair(6, 8), follow(PLENTY, message="It is me"))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_every_query_returns_the_data_that_the_page_shows(gateway: Gateway) -> None:
    queries = examples("lists")
    assert len(queries) == 6
    for example in queries:
        assert await example.ask(gateway) == example.data, example.document
