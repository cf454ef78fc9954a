"""Running operations: the cache of prepared documents, and masked errors."""

import logging

import pytest
import strawberry
from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from engine import Engine, EngineSettings, RequestError
from schema.errors import formatted
from tests.support.small_schema import Query, answered, schema


def test_a_document_is_prepared_once() -> None:
    engine = Engine(schema)
    assert engine.prepare("{ who }") is engine.prepare("{ who }")


def test_the_least_recently_used_document_is_evicted() -> None:
    engine = Engine(schema, EngineSettings(cached_documents=2))
    first, second = engine.prepare("query A { who }"), engine.prepare("query B { who }")
    assert engine.prepare("query A { who }") is first
    engine.prepare("query C { who }")
    assert engine.prepare("query A { who }") is first
    assert engine.prepare("query B { who }") is not second


def test_the_cache_is_bounded_by_characters_too() -> None:
    engine = Engine(schema, EngineSettings(cached_characters=20))
    first = engine.prepare("query A { who }")
    engine.prepare("query B { who }")
    assert engine.prepare("query A { who }") is not first


def test_a_rejected_document_takes_no_place_in_the_cache() -> None:
    engine = Engine(schema, EngineSettings(cached_documents=1))
    good = engine.prepare("{ who }")
    with pytest.raises(RequestError):
        engine.prepare("{ stranger }")
    assert engine.prepare("{ who }") is good


def test_a_schema_with_extensions_is_rejected() -> None:
    extended = strawberry.Schema(Query, extensions=[SchemaExtension])
    with pytest.raises(ValueError, match="neither schema extensions"):
        Engine(extended)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("{ rejected }", "BAD_USER_INPUT", "`first` must be at most 100."),
        ("{ down }", "UNAVAILABLE", "postgresql is unavailable"),
    ],
)
async def test_a_known_error_keeps_its_message_and_code(
    query: str, code: str, message: str
) -> None:
    result = await answered(query)
    formatted_error = formatted(result.errors[0])
    assert formatted_error["message"].startswith(message)
    assert formatted_error["extensions"]["code"] == code
    assert formatted_error["path"] == [query.strip("{} ")]


async def test_an_unknown_error_is_masked_and_logged_under_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await answered("{ broken }")
    with caplog.at_level(logging.ERROR):
        formatted_error = formatted(result.errors[0])
    assert formatted_error["extensions"]["code"] == "INTERNAL"
    assert formatted_error["path"] == ["broken"]
    assert set(formatted_error["extensions"]) == {"code", "id"}
    assert "hunter2" not in str(formatted_error)
    assert formatted_error["extensions"]["id"] in caplog.text
    assert "RuntimeError: password=hunter2" in caplog.text


def test_a_code_in_the_extensions_is_kept() -> None:
    error = GraphQLError("Not yours.", extensions={"code": "FORBIDDEN", "hint": 1})
    formatted_error = formatted(GraphQLError(error.message, original_error=error))
    assert formatted_error["extensions"] == {"code": "FORBIDDEN", "hint": 1}
