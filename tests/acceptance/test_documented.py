"""The queries of the documents run as they stand, and their outcomes are those they promise."""

import re
from pathlib import Path
from typing import Any

import pytest

from storage.stores import Stores
from tests.gateway import Gateway
from tests.relationships import protect

TOKENS = ("undoToken", "consistencyToken")
"""What an example is given of the one before it, in a variable of that name."""
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


@pytest.mark.parametrize("document", ["relationship.md", "freshness.md"])
async def test_every_example_runs_and_keeps_its_promise(
    gateway: Gateway, stores: Stores, document: str
) -> None:
    await protect(stores, 8)
    text = (DOCS / document).read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```graphql")
    tokens: dict[str, str] = {}
    for viewer, query in examples:
        given = {name: token for name, token in tokens.items() if f"${name}" in query}
        data = await gateway.data(query, int(viewer), **given)
        promised = PROMISE.findall(query)
        assert found(data, "outcome") == " ".join(promised).split(), query
        tokens |= {name: token for name in TOKENS for token in found(data, name) if token}
