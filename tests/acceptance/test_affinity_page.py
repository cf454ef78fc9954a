"""What docs/affinity.md shows can be asked just so."""

import re
from pathlib import Path
from typing import Any

from graph.affinity import DEFAULT_WEIGHTS
from storage.stores import Stores
from tests.gateway import Gateway
from tests.graphs import drain_all, follows
from tests.services import service_answer

PAGE = (Path(__file__).parents[2] / "docs" / "affinity.md").read_text(encoding="utf-8")
RECORD, SUGGESTIONS = re.findall(r"```graphql\n(.*?)```", PAGE, re.DOTALL)


async def test_the_pages_examples_work(gateway: Gateway, stores: Stores) -> None:
    await follows(stores, (1, 2), (1, 3), (2, 5), (3, 5), (2, 6), (9, 1))
    await drain_all(stores)
    answer = await service_answer(gateway, RECORD)
    assert answer == {"data": {"recordInteractions": {"recorded": 2}}}
    page: Any = (await gateway.data(SUGGESTIONS, viewer=1))["viewer"]["suggestions"]
    nodes = [edge["node"] for edge in page["edges"]]
    assert [node["user"]["id"] for node in nodes] == ["6", "9", "5"]
    assert [node["reason"] for node in nodes].count("FOLLOWS_YOU") == 1
    assert nodes[2]["knownFollowers"] == [{"id": "3"}, {"id": "2"}]


def test_the_page_tells_the_weights() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| (\d+) \|$", PAGE, re.MULTILINE)
    told = {kind: int(weight) for kinds, weight in rows for kind in re.findall(r"\w+", kinds)}
    assert told == {kind.value: weight for kind, weight in DEFAULT_WEIGHTS.items()}
