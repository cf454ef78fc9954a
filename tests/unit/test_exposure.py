"""Error messages without the names of the schema that graphql-core suggests."""

import re

import pytest
from graphql import GraphQLError

from gateway.graphql import exposure
from gateway.graphql.exposure import without_suggestions
from gateway.graphql.request import MESSAGE_CHARS_MAX


def message_without_suggestions(message: str) -> str:
    (error,) = without_suggestions([GraphQLError(message)])
    return error.message


def test_a_suggestion_is_removed() -> None:
    text = "Cannot query field 'nmae' on type 'User'."
    assert message_without_suggestions(f"{text} Did you mean 'name' or 'named'?") == text


def test_a_suggestion_that_is_cut_off_is_removed() -> None:
    quoted = "x" * (MESSAGE_CHARS_MAX - 20)
    assert message_without_suggestions(f"{quoted} Did you mean 'name' or 'named'?") == quoted


def test_a_message_is_shortened_before_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message may quote a megabyte of the request, whose search took minutes."""
    searched: list[int] = []

    class Pattern:
        def sub(self, new: str, text: str) -> str:
            searched.append(len(text))
            return re.sub(" ?Did you mean .*", new, text)

    monkeypatch.setattr(exposure, "_SUGGESTION", Pattern())
    message_without_suggestions("Did you mean " * 80_000)
    assert searched == [MESSAGE_CHARS_MAX + 1]
