"""Messages without the names that graphql-core suggests."""

import re

import pytest
from graphql import GraphQLError

from gateway.graphql import exposure
from gateway.graphql.exposure import without_suggestions
from gateway.graphql.request import MESSAGE_CHARS_MAX


def shown(message: str) -> str:
    (error,) = without_suggestions([GraphQLError(message)])
    return error.message


def test_a_suggestion_is_left_out() -> None:
    text = "Cannot query field 'nmae' on type 'User'."
    assert shown(f"{text} Did you mean 'name' or 'named'?") == text


def test_a_suggestion_that_is_cut_off_is_left_out() -> None:
    quoted = "x" * (MESSAGE_CHARS_MAX - 20)
    assert shown(f"{quoted} Did you mean 'name' or 'named'?") == quoted


def test_a_message_is_cut_before_it_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message may quote a megabyte of the request, which took minutes to search."""
    searched: list[int] = []

    class Pattern:
        def sub(self, new: str, text: str) -> str:
            searched.append(len(text))
            return re.sub(" ?Did you mean .*", new, text)

    monkeypatch.setattr(exposure, "_SUGGESTION", Pattern())
    shown("Did you mean " * 80_000)
    assert searched == [MESSAGE_CHARS_MAX + 1]
