"""The queries of docs/affinity.md and docs/suggestions.md run as they are printed."""

import re

import pytest

from graph.affinity import DEFAULT_WEIGHTS
from storage.stores import Stores
from tests.support.documentation import examples, page
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all, follows


@pytest.fixture
async def graph(stores: Stores) -> None:
    """The graph that the pages describe."""
    await follows(stores, (1, 2), (1, 3), (2, 1), (3, 1), (2, 5), (3, 5), (2, 6), (9, 1))
    await drain_all(stores)


@pytest.mark.usefixtures("graph")
async def test_every_example_returns_what_the_pages_show(gateway: Gateway) -> None:
    # The interactions that docs/affinity.md records also order the suggestions.
    page_examples = [*examples("affinity"), *examples("suggestions")]
    assert len(page_examples) == 4
    for example in page_examples:
        assert await example.ask(gateway) == example.data, example.document


def test_the_page_lists_the_default_weights() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\d+) \|$", page("affinity"), re.MULTILINE)
    listed = {kind: int(weight) for kinds, weight in rows for kind in re.findall(r"\w+", kinds)}
    assert listed == {kind.value: weight for kind, weight in DEFAULT_WEIGHTS.items()}
