"""Operations as they are run: the cache of judged ones, and masked errors."""

import logging

import pytest
import strawberry
from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from engine import Engine, EngineSettings, RequestError
from schema.errors import formatted
from tests.support.small_schema import Query, answered, schema


def test_a_document_is_judged_once() -> None:
    engine = Engine(schema)
    assert engine.prepare("{ who }") is engine.prepare("{ who }")


def test_the_least_recently_used_document_is_forgotten() -> None:
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


def test_a_schema_with_extensions_is_rejected_rather_than_half_run() -> None:
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
    shown = formatted(result.errors[0])
    assert shown["message"].startswith(message)
    assert shown["extensions"]["code"] == code
    assert shown["path"] == [query.strip("{} ")]


async def test_an_unknown_error_is_masked_and_logged_under_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await answered("{ broken }")
    with caplog.at_level(logging.ERROR):
        shown = formatted(result.errors[0])
    assert shown["extensions"]["code"] == "INTERNAL"
    assert shown["path"] == ["broken"]
    assert set(shown["extensions"]) == {"code", "id"}
    assert "hunter2" not in str(shown)
    assert shown["extensions"]["id"] in caplog.text
    assert "RuntimeError: password=hunter2" in caplog.text


def test_a_code_in_the_extensions_is_kept() -> None:
    error = GraphQLError("Not yours.", extensions={"code": "FORBIDDEN", "hint": 1})
    shown = formatted(GraphQLError(error.message, original_error=error))
    assert shown["extensions"] == {"code": "FORBIDDEN", "hint": 1}
