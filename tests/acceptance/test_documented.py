"""The examples of these pages run as printed, and return what the pages show."""

import pytest

from storage.stores import Stores
from tests.support.documentation import examples, found, promised
from tests.support.gateway import Gateway
from tests.support.graphs import drain_all
from tests.support.relationships import protect

TOKENS = ("undoToken", "consistencyToken", "version")
"""Values of an example's response that the next one gets as variables of these names."""

GROUP_ID = "groupId"
"""The variable for the group of the example before it."""

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
async def test_every_example_runs_and_keeps_its_promise(
    gateway: Gateway, stores: Stores, name: str
) -> None:
    await protect(stores, 8)
    tokens: dict[str, str] = {}
    shown = 0
    for example in examples(name):
        given = {of: token for of, token in tokens.items() if f"${of}" in example.document}
        data = await example.ask(gateway, **given)
        assert found(data, "outcome") == promised(example.document), example.document
        if example.data is not None:
            shown += 1
            assert data == example.data, example.document
        if name != "freshness":  # whose examples need no worker: that is what they show
            await drain_all(stores)
        tokens |= {of: token for of in TOKENS for token in found(data, of) if token}
        for group in (of for of in found(data, "id") if of.startswith("group:")):
            tokens[GROUP_ID] = group
    assert shown
