"""The Accept header by RFC 9110, section 12.5.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.http.accept import HEADER_CHARS_MAX, UNSTATED, MediaRange, accepted, media_ranges
from gateway.http.media_types import EVENT_STREAM, GRAPHQL_JSON, HTML, PLAIN_JSON
from gateway.http.rejection import HttpRejection

URQL = (
    "application/graphql-response+json, application/graphql+json, application/json,"
    " text/event-stream, multipart/mixed"
)
APOLLO = "application/graphql-response+json,application/json;q=0.9"
APOLLO_SUBSCRIPTION = f'multipart/mixed;boundary="graphql";subscriptionSpec="1.0",{APOLLO}'
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def query_media_type(accept: str | None) -> str | None:
    """The media type of the response to a query; None if the client accepts none."""
    reads = accepted(None if accept is None else accept.encode())
    if not reads.anything:
        return None
    return EVENT_STREAM if reads.prefers_streams else reads.json


def accepts_streams(accept: str) -> bool:
    return accepted(accept.encode()).streams


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        # whole headers of clients
        (URQL, GRAPHQL_JSON),
        (APOLLO, GRAPHQL_JSON),
        (APOLLO_SUBSCRIPTION, GRAPHQL_JSON),
        ("application/json, application/graphql-response+json, multipart/mixed", PLAIN_JSON),
        ("text/event-stream, multipart/mixed", EVENT_STREAM),
        ("text/event-stream", EVENT_STREAM),
        ("*/*", GRAPHQL_JSON),
        (None, GRAPHQL_JSON),
        ("", GRAPHQL_JSON),
        (" , ,", GRAPHQL_JSON),
        # weights
        ("text/event-stream, application/json", PLAIN_JSON),
        ("text/event-stream;q=0.9, application/json;q=0.8", EVENT_STREAM),
        ("text/event-stream, application/json;q=0.999", EVENT_STREAM),
        ("application/json;q=0.5, application/graphql-response+json;q=0.6", GRAPHQL_JSON),
        ("application/json;q=0.000, text/event-stream;q=0", None),
        ("application/json; q=1.000", PLAIN_JSON),
        ("application/json;Q=0.3, */*;q=0.2", PLAIN_JSON),
        # the most specific range decides
        ("*/*;q=0", None),
        ("*/*, application/*;q=0", EVENT_STREAM),
        ("application/json;q=0, */*;q=0.1", GRAPHQL_JSON),
        ("application/*;q=0.5, text/*", EVENT_STREAM),
        ("*/*;q=0.9, application/graphql-response+json;q=0.1", PLAIN_JSON),
        ("application/json;charset=utf-8;q=0, application/json", None),  # responses are UTF-8
        # parameters
        ("application/json; charset=UTF-8", PLAIN_JSON),
        ('application/json;charset="utf-8"', PLAIN_JSON),
        ("application/json;version=2", PLAIN_JSON),
        ("application/json;version=2;q=0, */*", GRAPHQL_JSON),
        ("application/json;q=0.4;extension=1, text/event-stream;q=0.3", PLAIN_JSON),
        ('text/x;a="application/json, text/event-stream"', None),
        (r'text/x;a="\",", application/json', PLAIN_JSON),
        # malformed entries are ignored
        ("application/json;q=nan, */*;q=0.1", GRAPHQL_JSON),
        ("application/json;q=1.1", None),
        ("application/json;q=-0", None),
        ("application/json;q=", None),
        ("json, */json, application/, /json, application", None),
        ("a/b/c, text/event-stream", EVENT_STREAM),
        (';;;, "', None),
        ('application/json, "', PLAIN_JSON),
        ("image/png", None),
    ],
)
def test_the_response_to_a_query_has_the_media_type_with_the_greatest_weight(
    accept: str | None, expected: str | None
) -> None:
    assert query_media_type(accept) == expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (URQL, True),
        ("text/event-stream", True),
        ("application/json, text/event-stream;q=0.1", True),
        ("*/*", True),
        ("text/*;q=0.1", True),
        (APOLLO, False),
        (APOLLO_SUBSCRIPTION, False),
        ("*/*, text/event-stream;q=0", False),
    ],
)
def test_a_subscription_streams_to_a_client_that_accepts_event_streams_at_any_weight(
    accept: str, expected: bool
) -> None:
    assert accepts_streams(accept) is expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("text/html;q=0.5, */*", False),
        ("text/html;q=0", False),
        ("text/*", False),
        ("*/*", False),
        ("application/json, text/html", False),
    ],
)
def test_only_a_client_that_names_and_prefers_html_gets_a_page(accept: str, expected: bool) -> None:
    assert accepted(accept.encode()).page is expected


def test_a_header_of_ten_kilobytes_is_rejected() -> None:
    for entry in (b"application/json,", b'"', b"a/b;", b" ", b"*/*;q=0.1,"):
        with pytest.raises(HttpRejection, match="at most 1000 characters, got 10240") as rejected:
            accepted((entry * 10_240)[: 10_240 - 3] + b"*/*")
        assert (rejected.value.status, rejected.value.code) == (406, "NOT_ACCEPTABLE")


def test_a_header_of_the_maximum_length_is_read() -> None:
    assert query_media_type("application/json".ljust(HEADER_CHARS_MAX)) == PLAIN_JSON
    assert query_media_type('"\\' * (HEADER_CHARS_MAX // 2)) is None
    assert query_media_type("a/b;".ljust(25) * (HEADER_CHARS_MAX // 25)) is None


def test_a_header_of_many_items_is_rejected() -> None:
    for entry in (b"a/b,", b"a/b;", b"a/b;q=1,"):
        with pytest.raises(HttpRejection, match="at most 50 media types and parameters"):
            accepted(entry * 51)


TYPES = (GRAPHQL_JSON, PLAIN_JSON, EVENT_STREAM, HTML)
NAMES = st.sampled_from([*TYPES, "application/*", "text/*", "*/*", "image/png"])
THOUSANDTHS = st.integers(0, 1000)
PADDING = st.sampled_from(["", " ", "\t"])


@given(st.lists(st.tuples(NAMES, THOUSANDTHS, PADDING), min_size=1, max_size=8))
def test_weights_are_those_of_the_most_specific_ranges(
    entries: list[tuple[str, int, str]],
) -> None:
    header = ",".join(f"{space}{name}{space};{space}q={q / 1000:.3f}" for name, q, space in entries)

    def weight(name: str) -> int:
        """The weight of a type by the RFC. Of equal ranges the first one counts."""
        for named in (name, name.split("/")[0] + "/*", "*/*"):
            for entry, q, _ in entries:
                if entry == named:
                    return q
        return 0

    best = max(weight(GRAPHQL_JSON), weight(PLAIN_JSON))
    reads = accepted(header.encode())
    assert weight(reads.json) == best
    assert reads.streams == (weight(EVENT_STREAM) > 0)
    assert reads.prefers_streams == (weight(EVENT_STREAM) > best)
    assert reads.anything == (max(best, weight(EVENT_STREAM)) > 0)


@given(st.text(st.characters(max_codepoint=255), max_size=100))
def test_no_header_raises_an_error(header: str) -> None:
    reads = accepted(header.encode("latin-1"))
    assert reads.anything or reads != UNSTATED


def test_a_media_range_has_a_weight_and_whether_it_has_parameters() -> None:
    assert list(media_ranges("text/x ; a=1 ;q=0.5, b/*")) == [
        MediaRange("text/x", 0.5, True),
        MediaRange("b/*", 1.0, False),
    ]
