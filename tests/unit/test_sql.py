"""The parser of named SQL statements. Braces expand one statement to several."""

import pytest

from storage.postgres.sql import parse


def test_a_statement_keeps_its_comment() -> None:
    assert parse("-- name: one\n-- Cheap.\nSELECT '{}'\n") == {
        "one": "-- name: one\n-- Cheap.\nSELECT '{}'"
    }


def test_braces_expand_to_one_statement_for_each_alternative() -> None:
    text = "-- name: page_{old,new}\nSELECT a ORDER BY a {ASC,DESC}, b {ASC,DESC}"
    assert parse(text) == {
        "page_old": "-- name: page_old\nSELECT a ORDER BY a ASC, b ASC",
        "page_new": "-- name: page_new\nSELECT a ORDER BY a DESC, b DESC",
    }


def test_a_name_may_not_be_used_twice() -> None:
    with pytest.raises(LookupError, match="page_old"):
        parse("-- name: page_{old,new}\nSELECT 1\n-- name: page_old\nSELECT 2")


def test_an_alternative_may_be_a_phrase_or_empty() -> None:
    text = "-- name: {all,some}_rows\n{DELETE FROM,UPDATE} a WHERE true{, AND b = $1}"
    assert parse(text) == {
        "all_rows": "-- name: all_rows\nDELETE FROM a WHERE true",
        "some_rows": "-- name: some_rows\nUPDATE a WHERE true AND b = $1",
    }
