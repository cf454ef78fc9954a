"""The examples in the pages below run as printed, and return what the pages show."""

import pytest

from storage.stores import Stores
from tests.support.documentation import examples, found, promised
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all
from tests.support.relationships import protect

TOKENS = ("undoToken", "consistencyToken", "version")
"""Fields of an example's response that later examples get as variables of the same names."""

GROUP_ID = "groupId"
"""The variable for the last group of an earlier example."""

PAGES = (
    "relationship",
    "errors",
    "whispers",
    "requests",
    "blocks",
    "notes",
    "groups",
    "new-followers",
    "pinned",
    "undo",
    "freshness",
)


@pytest.mark.parametrize("name", PAGES)
async def test_every_example_returns_the_outcome_and_data_that_the_page_shows(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    await protect(stores, 8)
    tokens: dict[str, str] = {}
    examples_with_data = 0
    for example in examples(name):
        given = {key: token for key, token in tokens.items() if f"${key}" in example.document}
        data = await example.ask(gateway, **given)
        assert found(data, "outcome") == promised(example.document), example.document
        if example.data is not None:
            examples_with_data += 1
            assert data == example.data, example.document
        if name != "freshness":  # its examples show reads of changes that no worker has applied
            await drain_all(stores)
        tokens |= {key: token for key in TOKENS for token in found(data, key) if token}
        for node_id in found(data, "id"):
            if node_id.startswith("group:"):
                tokens[GROUP_ID] = node_id
    assert examples_with_data
