"""The parser equals graphql-core's."""

from random import Random
from typing import Any

import graphql
import pytest

from engine.parser import parse
from engine.source import IndexedSource
from tests.property.test_engine_equals_graphql_core import VALUES
from tests.support.random_operations import Operations
from tests.support.zoo_schema import schema

CHARACTERS = ' \n\r\t,\ufeff#"\\.-0123456789eE_aon{}()[]:!$@|&=é\u0000'

TRICKY = [
    "",
    "\ufeff{ a }",
    '{ a(b: "", c: "é", d: "\\u00e9\\n", e: "x" "y") }',
    '{ a(b: """ block "quoted" \\""" """, c: "" d: """""") }',
    '{ a(b: """x""",c:"y""z") }',
    "{ a(b: 0, c: -1, d: 1.5e3, e: 12, f: -0) }",
    "{ a(b: 01) }",
    "{ a(b: 1x) }",
    "{ a(b: -) }",
    "{ a # comment\n b #\r\n c }",
    "{ a .. b }",
    "{ ...F ... on T { x } ... @skip(if: true) { y } ... { z } }",
    "{ a: b: c }",
    "{ a {} }",
    "{ a",
    "{ a( }",
    "{ 'a' }",
    "{ \u0000 }",
    "query Q($a: [Int!]! = [1, 2] @d, $b: T = {x: [true, null, E, $c]}) @d { a }",
    "fragment on on on { a }",
    "{" * 300,
    "type T { a: Int } extend schema @d",
]


def described(function: Any, text: str) -> Any:
    """The syntax tree with its locations, or the error with its locations."""
    try:
        return function(IndexedSource(text)).to_dict(locations=True)
    except graphql.GraphQLError as error:
        return error.message, error.locations


@pytest.mark.parametrize("text", TRICKY)
def test_the_result_is_that_of_graphql_core(text: str) -> None:
    assert described(parse, text) == described(graphql.parse, text)


def test_the_result_is_that_of_graphql_core_for_broken_documents() -> None:
    operations = Operations(schema._schema, VALUES)
    errors = 0
    for seed in range(400):
        random = Random(seed)
        text = operations.draw(random).query
        for _ in range(seed % 4):
            at = random.randrange(len(text))
            text = text[:at] + random.choice(CHARACTERS) + text[at + random.randrange(3) :]
        expected = described(graphql.parse, text)
        assert described(parse, text) == expected, text
        errors += isinstance(expected, tuple)
    assert errors > 100
