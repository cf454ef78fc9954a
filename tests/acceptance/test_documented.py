"""The queries of the documents run as they stand, and their outcomes are those they promise."""

import re
from pathlib import Path
from typing import Any

import pytest

from storage.stores import Stores
from tests.gateway import Gateway
from tests.relationships import protect

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(r"```graphql\n# as (\d+)\n(.*?)```", re.DOTALL)
PROMISE = re.compile(r"\boutcome\b[^#\n]*# ([A-Z_ ]+)$", re.MULTILINE)


def found(answer: Any, name: str) -> list[Any]:
    """Every value of that name, in the order of the answer."""
    if isinstance(answer, list):
        return [value for item in answer for value in found(item, name)]
    if not isinstance(answer, dict):
        return []
    own = [answer[name]] if name in answer else []
    return own + [value for item in answer.values() for value in found(item, name)]


@pytest.mark.parametrize("document", ["relationship.md"])
async def test_every_example_runs_and_keeps_its_promise(
    gateway: Gateway, stores: Stores, document: str
) -> None:
    await protect(stores, 8)
    text = (DOCS / document).read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```graphql")
    token = None
    for viewer, query in examples:
        given = {"undoToken": token} if "$undoToken" in query else {}
        data = await gateway.data(query, int(viewer), **given)
        promised = PROMISE.findall(query)
        assert found(data, "outcome") == " ".join(promised).split(), query
        token = next(iter(found(data, "undoToken")), token)
