"""The Accept header: the media types that a client accepts and prefers.

The rules are those of RFC 9110, section 12.5.1. Libraries that parse the header choose one type out
of a list. Here the choice depends on the kind of the operation, which is known later, so the parser
is our own. Results are cached by the header's value, so most requests pay for one lookup.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gateway.http.headers import Headers
from gateway.http.media_types import EVENT_STREAM, GRAPHQL_JSON, HTML, PLAIN_JSON
from gateway.http.rejection import HttpRejection

ACCEPT = b"accept"
HEADER_CHARS_MAX = 1_000
"""Real headers are shorter than 200 characters. Longer ones would waste space in the cache."""
ITEMS_MAX = 50
"""The maximum number of media ranges and parameters. Browsers send up to 15. Parsing takes 1 to 2
µs for each."""

TYPES = (HTML, GRAPHQL_JSON, PLAIN_JSON, EVENT_STREAM)
_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_ENTRY = re.compile(rf'(?:[^,"]|{_QUOTED})++')
_PART = re.compile(rf'(?:[^;"]|{_QUOTED})++')
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
_WEIGHT = re.compile(r"0(\.[0-9]*)?|1(\.0*)?")


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of an Accept header: a type, `type/*` or `*/*`, and its weight from 0 to 1."""

    name: str
    quality: float
    has_parameters: bool
    """Whether it has parameters other than the charset UTF-8, which our types do not have."""

    def specificity(self, media_type: str) -> int:
        """How exactly this range names the type: 3 to 0; -1 if it does not."""
        if self.name == media_type:
            # A client that wants a version or a profile gets JSON, which serves it better than 406.
            # A client that excludes a profile does not exclude JSON.
            if self.has_parameters:
                return 2 if self.quality else -1
            return 3
        if self.name == media_type.partition("/")[0] + "/*":
            return 1
        return 0 if self.name == "*/*" else -1


@dataclass(frozen=True, slots=True)
class Accepted:
    """The responses that a client accepts."""

    json: str
    """The JSON type of a single response and of errors; PLAIN_JSON if it accepts neither."""
    streams: bool
    """Whether it accepts event streams, which subscriptions need."""
    prefers_streams: bool = False
    """Whether it prefers an event stream to JSON, for a single response too."""
    anything: bool = True
    """Whether it accepts JSON or event streams."""
    page: bool = False
    """Whether it is a browser that opens a page, not a program that requests data."""


UNSTATED = Accepted(GRAPHQL_JSON, streams=True)
"""A missing header accepts everything. The GraphQL-over-HTTP specification makes
`application/graphql-response+json` the default since 1 January 2025."""


def accepted_by(headers: Headers) -> Accepted:
    """The media types that a request's Accept headers allow. Raises HttpRejection 406."""
    return accepted(b",".join(headers.every(ACCEPT)))


@lru_cache(maxsize=512)
def accepted(accept: bytes | None) -> Accepted:
    """The media types that the value of an Accept header allows.

    Raises HttpRejection 406 for a value with more than HEADER_CHARS_MAX or ITEMS_MAX.
    """
    if accept is None or not accept.strip(b" \t,"):
        return UNSTATED
    if len(accept) > HEADER_CHARS_MAX:
        message = (
            f"An Accept header must have at most {HEADER_CHARS_MAX} characters, got {len(accept)}."
        )
        raise HttpRejection(406, "NOT_ACCEPTABLE", message)
    items = 1 + accept.count(b",") + accept.count(b";")
    if items > ITEMS_MAX:
        message = (
            f"An Accept header must have at most {ITEMS_MAX} media types and parameters, got"
            f" {items}."
        )
        raise HttpRejection(406, "NOT_ACCEPTABLE", message)
    text = accept.decode("latin-1").lower()
    ranges = list(media_ranges(text))
    page, modern, plain, stream = (_rank(ranges, name) for name in TYPES)
    # At equal weights the response is JSON, in the type that is listed first.
    json = plain if plain > modern else modern
    return Accepted(
        json=PLAIN_JSON if plain > modern or not modern[0] else GRAPHQL_JSON,
        streams=stream[0] > 0,
        prefers_streams=stream[0] > json[0],
        anything=max(json[0], stream[0]) > 0,
        # Browsers list text/html itself, not a range such as `text/*`.
        page=HTML in text and page[0] > 0 and page > json,
    )


def media_ranges(accept: str) -> Iterator[MediaRange]:
    """The entries of an Accept header in lower case, in their order, without malformed ones."""
    for entry in _ENTRY.findall(accept):
        parts = [part.strip() for part in _PART.findall(entry)]
        found = _media_range(parts[0], parts[1:]) if parts else None
        if found is not None:
            yield found


def _media_range(name: str, parameters: Sequence[str]) -> MediaRange | None:
    """One entry. None: it is malformed."""
    kind, _, subtype = name.partition("/")
    is_wildcard = name == "*/*" or ("*" not in kind and subtype == "*")
    if not _NAME.fullmatch(name) or ("*" in name and not is_wildcard):
        return None
    has_parameters = False
    for parameter in filter(None, parameters):
        key, _, value = (part.strip() for part in parameter.partition("="))
        if key == "q":  # parameters after `q` extend Accept and do not describe the type
            weight = float(value) if _WEIGHT.fullmatch(value) else None
            return None if weight is None else MediaRange(name, weight, has_parameters)
        has_parameters |= (key, value.strip('"')) != ("charset", "utf-8")
    return MediaRange(name, 1.0, has_parameters)


def _rank(ranges: list[MediaRange], media_type: str) -> tuple[float, int]:
    """The preference for one type: its weight, then how early it is listed.

    The most specific range determines the weight: `*/*, text/html;q=0` excludes only HTML.
    """
    matching = [
        (specificity, -place, entry.quality)
        for place, entry in enumerate(ranges)
        if (specificity := entry.specificity(media_type)) >= 0
    ]
    if not matching:
        return (0.0, 0)
    _, early, quality = max(matching)
    return (quality, early)
