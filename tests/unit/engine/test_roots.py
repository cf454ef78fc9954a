"""The root fields and arguments of an operation, read before it runs."""

from typing import Any

import pytest
import strawberry

from engine import Engine


@strawberry.type
class Leaf:
    fresh: str | None = None


@strawberry.type
class Query:
    @strawberry.field
    def leaf(self, token: str | None = None, size: int = 1) -> Leaf:
        return Leaf(fresh=token)


ENGINE = Engine(strawberry.Schema(Query))


@pytest.mark.parametrize(
    ("query", "variables", "expected"),
    [
        ("{ leaf { fresh } }", {}, []),
        ('{ leaf(token: "a") { fresh } }', {}, ["a"]),
        ('{ leaf(token: """a""", size: 2) { fresh } }', {}, ["a"]),
        ("{ leaf(token: null) { fresh } }", {}, []),
        ('{ a: leaf(token: "a") { fresh } b: leaf(token: "b") { fresh } }', {}, ["a", "b"]),
        ('{ ... { leaf(token: "a") { fresh } } }', {}, ["a"]),
        ('{ ...F ...F } fragment F on Query { leaf(token: "a") { fresh } }', {}, ["a"]),
        ('fragment F on Query { leaf(token: "a") { fresh } } { ...F }', {}, ["a"]),
        ('{ leaf(token: "a") @skip(if: true) { fresh } }', {}, []),
        ('{ ...F @include(if: false) } fragment F on Query { leaf(token: "a") { fresh } }', {}, []),
        (
            '{ ...F @skip(if: true) ...F } fragment F on Query { leaf(token: "a") { fresh } }',
            {},
            ["a"],
        ),
        ('query ($c: Boolean!) { leaf(token: "a") @skip(if: $c) { fresh } }', {"c": True}, []),
        ('query ($c: Boolean!) { leaf(token: "a") @skip(if: $c) { fresh } }', {"c": False}, ["a"]),
        ("query ($t: String) { leaf(token: $t) { fresh } }", {"t": "a"}, ["a"]),
        ("query ($t: String) { leaf(token: $t) { fresh } }", {"t": None}, []),
        ("query ($t: String) { leaf(token: $t) { fresh } }", {}, []),
        ('query ($t: String = "a") { leaf(token: $t) { fresh } }', {}, ["a"]),
        ("query ($t: String) { leaf(token: $t) { fresh } }", {"t": [7]}, []),
    ],
)
def test_arguments_of_root_fields_are_known_before_execution(
    query: str, variables: dict[str, Any], expected: list[str]
) -> None:
    operation = ENGINE.prepare(query)
    assert list(operation.root_argument_values("token", variables)) == expected
    assert not list(operation.root_argument_values("another", variables))


def test_only_root_fields_of_the_selected_operation_are_read() -> None:
    document = 'query A { leaf(token: "a") { fresh } } query B { leaf(token: "b") { fresh } }'
    operation = ENGINE.prepare(document, "B")
    assert list(operation.root_argument_values("token", {})) == ["b"]


def test_field_names_of_a_document_are_known_before_execution() -> None:
    operation = ENGINE.prepare("{ ...F } fragment F on Query { leaf { again: fresh } }")
    assert "fresh" in operation.field_names
    assert "again" not in operation.field_names
