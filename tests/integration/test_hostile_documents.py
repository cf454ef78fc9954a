"""Expensive documents: each is rejected in bounded time, and no useful document is rejected."""

from contextlib import suppress

import httpx
import pytest
from graphql import get_introspection_query

from engine import Engine, EngineSettings, RequestError, Stage
from tests.support.call_counts import count_calls
from tests.support.small_schema import answered, endpoint, schema

CALLS_MAX = 150_000
"""Python calls to reject any of `HOSTILE`. Without limits, some take a thousand times as many."""

CALLS_REPEATED_MAX = 30
"""Python calls to reject the same document again."""


def calls_to_reject(engine: Engine, document: str) -> int:
    """The number of Python calls in `Engine.prepare`, whether it rejects the document or not."""

    def prepare() -> None:
        with suppress(RequestError):
            engine.prepare(document)

    return count_calls(prepare, with_c=False)


def nested(depth: int) -> str:
    return '{ user(id: "1")' + " { friends" * depth + " { id }" + " }" * depth + " }"


def doubling(levels: int) -> str:
    """Each fragment spreads the next twice below two aliases: 2 to the power of `levels`."""
    fragments = [
        f"fragment F{n} on User {{ a: friend {{ ...F{n + 1} }} b: friend {{ ...F{n + 1} }} }}"
        for n in range(levels)
    ]
    return (
        '{ user(id: "1") { ...F0 } }'
        + " ".join(fragments)
        + f" fragment F{levels} on User {{ id }}"
    )


def chain(length: int) -> str:
    fragments = [f"fragment F{n} on User {{ ...F{n + 1} }}" for n in range(length)]
    return (
        '{ user(id: "1") { ...F0 } }'
        + " ".join(fragments)
        + f" fragment F{length} on User {{ id }}"
    )


HOSTILE = {
    "too deep": nested(16),
    "deep beyond the parser": nested(2_000),
    "deep lists": "{ user(id: " + "[" * 4_000 + "]" * 4_000 + ") { id } }",
    "brackets": "{" * 100_000,
    "doubling fragments": doubling(60),
    "a chain of fragments": chain(1_200),
    "a cycle of fragments": '{ user(id: "1") { ...A } } fragment A on User { ...B } '
    "fragment B on User { ...A }",
    "an unknown fragment": '{ user(id: "1") { ...Nobody } }',
    "many aliases": "{" + " ".join(f"a{n}: who" for n in range(300)) + "}",
    "many fields": '{ user(id: "1") {' + " id" * 5_000 + "} }",
    "equal fields": '{ user(id: "1") {' + " friend { id }" * 900 + "} }",
    "equal names, other arguments": "{"
    + " ".join(f"user(id: {n}) {{ id }}" for n in range(900))
    + "}",
    "equal fields in fragments": '{ user(id: "1") {'
    + " ".join(f"...F{n}" for n in range(150))
    + "} }"
    + " ".join(f"fragment F{n} on User {{ friend {{ id }} friends {{ id }} }}" for n in range(150)),
    "many equal fields in fragments": '{ user(id: "1") {'
    + " ".join(f"...F{n}" for n in range(19))
    + "} }"
    + " ".join(f"fragment F{n} on User {{ {'id ' * 50} }}" for n in range(19)),
    "many operations": " ".join(f"query Q{n} {{ who }}" for n in range(500)),
    "repeated introspection": "{"
    + " ".join(f"s{n}: __schema {{ types {{ name }} }}" for n in range(20))
    + "}",
    "recursive introspection": "{ __schema { types { fields { type { fields { type { fields "
    "{ name } } } } } } } }",
    "long": "{ who " + " " * 100_000 + "}",
    "a long name": "{" + "w" * 99_000 + "}",
    "a long string": '{ user(id: "' + "x" * 99_900 + '"}',
    "many comments": "#\n" * 40_000 + "{ who }",
    "many tokens": "{ who " + "@skip(if: false) " * 4_000 + "}",
    "many arguments": "{ user(" + " ".join(f"id: {n}" for n in range(2_500)) + ") { id } }",
    "many mistakes": "{" + " ".join(f"stranger{n}" for n in range(900)) + "}",
    "a long literal": "{ user(id: [" + "1 " * 9_900 + "]) { id } }",
    "an undeclared variable": "{ wish(wish: $nothing) }",
    "a null character": "{ who \x00 }",
    "types": "type Query { a: Int }",
    "a subscription": "subscription { who }",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_document_takes_bounded_work_once(document: str) -> None:
    engine = Engine(schema)
    assert calls_to_reject(engine, document) < CALLS_MAX
    assert calls_to_reject(engine, document) < CALLS_REPEATED_MAX


@pytest.mark.parametrize("document", HOSTILE.values(), ids=list(HOSTILE))
async def test_a_hostile_document_is_rejected(document: str) -> None:
    transport = httpx.ASGITransport(endpoint())
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        response = await client.post("/graphql", json={"query": document})
    assert response.status_code == 400
    errors = response.json()["errors"]
    assert len(errors) <= 21
    assert all(len(error["message"]) <= 1_001 for error in errors)
    codes = {error["extensions"]["code"] for error in errors}
    assert codes <= {
        "DOCUMENT_LIMIT_EXCEEDED",
        "GRAPHQL_PARSE_FAILED",
        "GRAPHQL_VALIDATION_FAILED",
        "OPERATION_RESOLUTION_FAILED",
    }


def test_a_document_that_takes_too_much_work_to_validate_is_rejected() -> None:
    engine = Engine(schema)
    for document, stage, message in (
        (HOSTILE["many equal fields in fragments"], Stage.LIMITS, "too often to be validated"),
        (HOSTILE["many mistakes"], Stage.VALIDATION, "Too many validation errors"),
    ):
        with pytest.raises(RequestError) as caught:
            engine.prepare(document)
        assert caught.value.stage is stage
        assert message in caught.value.errors[-1].message


def test_a_document_of_too_many_tokens_is_not_parsed_to_its_end() -> None:
    engine = Engine(schema, EngineSettings(max_tokens=5))
    with pytest.raises(RequestError) as caught:
        engine.prepare('{ user(id: "1") { id } }')
    assert caught.value.stage is Stage.PARSE
    assert "more than 5 tokens" in caught.value.errors[0].message


async def test_a_document_at_the_depth_limit_runs() -> None:
    result = await answered(nested(EngineSettings().max_depth - 2).replace("friends", "friend"))
    assert not result.errors


async def test_the_schema_can_be_introspected_as_tools_do_it() -> None:
    result = await answered(get_introspection_query(input_value_deprecation=True))
    assert not result.errors
    assert result.data is not None
    assert result.data["__schema"]["queryType"]["name"] == "Query"
