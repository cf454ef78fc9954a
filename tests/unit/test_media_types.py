"""The Content-Type of a request."""

import pytest

from gateway.http.media_types import TYPE_CHARS_MAX, require_json
from gateway.http.rejection import HttpRejection


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json; a="b"; charset=utf8',
    ],
)
def test_utf_8_json_is_accepted(content_type: str) -> None:
    require_json(content_type.encode())


@pytest.mark.parametrize(
    "content_type", [None, b"", b"text/plain", b"application/json; charset=latin-1"]
)
def test_other_types_are_rejected(content_type: bytes | None) -> None:
    with pytest.raises(HttpRejection) as rejection:
        require_json(content_type)
    assert (rejection.value.status, rejection.value.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_a_long_content_type_is_rejected_without_reading_its_parameters() -> None:
    longest = b"application/json;".ljust(TYPE_CHARS_MAX, b"a")
    require_json(longest)
    with pytest.raises(HttpRejection, match="at most 200 characters") as rejection:
        require_json(longest + b"a")
    assert (rejection.value.status, rejection.value.code) == (415, "UNSUPPORTED_MEDIA_TYPE")
