"""The lines of a document are found once, whatever the number of its errors."""

import re
import sys
from collections.abc import Iterator
from random import Random
from types import FrameType

import pytest
from graphql import GraphQLError, Source, located_error, parse
from graphql.language import location as core_location
from graphql.language import source as core_source

from engine import Engine, source
from engine.errors import locate_error
from engine.source import IndexedSource
from gateway.graphql.exposure import without_suggestions
from gateway.graphql.request import RequestRejected
from tests.support import misbehaving_schema as odd

BLANK_LINES = "\n" * 1_000


class CountedSearches:
    """Replaces a regular expression, and counts the searches of a text."""

    def __init__(self) -> None:
        self.count = 0
        self._pattern = re.compile(r"\r\n|[\n\r]")

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.count += 1
        return self._pattern.finditer(text)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> CountedSearches:
    counted = CountedSearches()
    monkeypatch.setattr(core_source, "_re_newline", counted)
    monkeypatch.setattr(core_location, "_re_newline", counted)
    monkeypatch.setattr(source, "_LINE_BREAK", counted)
    return counted


@pytest.mark.parametrize("seed", range(50))
def test_locations_are_those_of_graphql_core(seed: int) -> None:
    random = Random(seed)
    text = "".join(random.choices(["a", "\n", "\r", "\r\n", "\u2028", "é"], k=seed))
    indexed, plain = IndexedSource(text), Source(text)
    for position in random.sample(range(len(text) + 2), len(text) + 2):
        assert indexed.get_location(position) == plain.get_location(position)


@pytest.mark.parametrize("nodes", [1, 3])
async def test_field_errors_search_the_text_once(nodes: int, searches: CountedSearches) -> None:
    fields = " ".join(f"a{n}: endless" for n in range(20))
    text = f"{BLANK_LINES}{{ odds {{ {fields * nodes} }} }}".replace("endlessa", "endless a")
    result = await Engine(odd.schema).execute(query=text)
    assert len(result.errors) == 40
    assert [len(error.locations or ()) for error in result.errors] == [nodes] * 40
    assert result.errors[0].locations[0] == (1_001, 10)  # type: ignore[index]
    assert searches.count == 1


async def test_a_rejection_searches_the_text_once(searches: CountedSearches) -> None:
    result = await Engine(odd.schema).execute(query=f"{BLANK_LINES}{{ ods missing }}")
    rejected = RequestRejected("INVALID", without_suggestions(result.errors))
    assert [error.locations for error in rejected.errors] == [[(1_001, 3)], [(1_001, 7)]]
    assert searches.count == 1


class Worded(Exception):
    """An exception whose message is an attribute."""

    message = "worded"


class Caused(ValueError):
    def __init__(self) -> None:
        super().__init__("caused")
        self.__cause__ = KeyError("cause")


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        Worded(),
        Caused(),
        GraphQLError("no"),
        GraphQLError("no", path=["x"], extensions={"a": 1}),
    ],
)
def test_located_errors_are_those_of_graphql_core(error: Exception, count: int) -> None:
    document = parse(IndexedSource("{ a\n a }"))
    nodes = list(document.definitions[0].selection_set.selections)[:count]  # type: ignore[attr-defined]
    actual, expected = locate_error(error, nodes, ["a"]), located_error(error, nodes, ["a"])
    assert actual == expected
    assert actual.formatted == expected.formatted
    assert actual.original_error is expected.original_error
    assert actual.__cause__ is expected.__cause__
    assert (actual.source, actual.positions) == (expected.source, expected.positions)


def test_locating_an_error_makes_few_calls() -> None:
    document = parse(IndexedSource("{ a }"))
    nodes = list(document.definitions[0].selection_set.selections)  # type: ignore[attr-defined]
    calls: list[str] = []

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(count)
    try:
        locate_error(ValueError("no"), nodes, ["a"])
    finally:
        sys.setprofile(None)
    assert len(calls) <= 12, calls  # with `located_error` of graphql-core: 17
