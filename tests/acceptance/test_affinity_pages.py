"""The queries of docs/affinity.md and docs/suggestions.md run as they are printed."""

import re

import pytest

from graph.affinity import DEFAULT_WEIGHTS
from storage.stores import Stores
from tests.support.documentation import examples, page
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def world(stores: Stores) -> None:
    """Create the graph of the pages."""
    await follows(stores, (1, 2), (1, 3), (2, 1), (3, 1), (2, 5), (3, 5), (2, 6), (9, 1))
    await drain_all(stores)


@pytest.mark.usefixtures("world")
async def test_every_example_answers_what_the_pages_show(gateway: Gateway) -> None:
    # The recorded interactions order the suggestions, too.
    shown = [*examples("affinity"), *examples("suggestions")]
    assert len(shown) == 4
    for example in shown:
        assert await example.ask(gateway) == example.data, example.document


def test_the_page_lists_the_weights() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\d+) \|$", page("affinity"), re.MULTILINE)
    result = {kind: int(weight) for kinds, weight in rows for kind in re.findall(r"\w+", kinds)}
    assert result == {kind.value: weight for kind, weight in DEFAULT_WEIGHTS.items()}
