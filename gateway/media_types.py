"""Which JSON dialect a caller reads and writes. Knows Accept and Content-Type, no bodies.

Sources: RFC 9110 sections 8.3 and 12.5.1, and the GraphQL-over-HTTP specification (media types).
"""

from dataclasses import dataclass
from functools import lru_cache

from gateway.http_refusal import HttpRefusal

GRAPHQL_JSON = "application/graphql-response+json"
PLAIN_JSON = "application/json"
HTML = "text/html"
# Real headers are shorter than 200 characters; a longer one is not worth a place in the cache.
HEADER_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of an Accept header: `type/subtype` (either may be `*`) and its weight 0..1."""

    name: str
    quality: float

    def specificity(self, media_type: str) -> int:
        """2 for the very type, 1 for `type/*`, 0 for `*/*`, -1 where it does not match."""
        if self.name == media_type:
            return 2
        if self.name == media_type.partition("/")[0] + "/*":
            return 1
        return 0 if self.name == "*/*" else -1


@lru_cache(maxsize=512)
def answer_type(accept: bytes | None) -> str:
    """The media type to answer in.

    Where nothing or anything is accepted it is `application/graphql-response+json`: since
    1 January 2025 the specification treats a missing header so. Equal weights go by the order in
    which the caller lists them.

    Raises HttpRefusal 406 when the caller reads neither dialect.
    """
    if accept is None or not accept.strip():
        return GRAPHQL_JSON
    ranges = _ranges(accept.decode("latin-1"))
    choices = [_rank(ranges, name, -place) for place, name in enumerate((GRAPHQL_JSON, PLAIN_JSON))]
    quality, _, _, name = max(choices)
    if quality <= 0:
        message = f"This endpoint answers in {GRAPHQL_JSON} or {PLAIN_JSON}; Accept allows neither."
        raise HttpRefusal(406, "NOT_ACCEPTABLE", message)
    return name


@lru_cache(maxsize=512)
def prefers_html(accept: bytes | None) -> bool:
    """Whether this is a browser that opens a page, not a program that asks for data."""
    if accept is None or HTML not in (text := accept.decode("latin-1")):
        return False
    if len(text) > HEADER_CHARS_MAX:
        return False  # `answer_type` refuses it
    ranges = _ranges(text)
    html, *others = (_rank(ranges, name, 0) for name in (HTML, GRAPHQL_JSON, PLAIN_JSON))
    return html[0] > 0 and all(html[:2] > other[:2] for other in others)


@lru_cache(maxsize=512)
def require_json(content_type: bytes | None) -> None:
    """Let only UTF-8 JSON bodies pass.

    A form, multipart or text/plain body is what another site's page can make a browser send
    without asking first (a CORS "simple request"), so refusing them closes that door.

    Raises HttpRefusal 415.
    """
    name, _, parameters = (content_type or b"").decode("latin-1").partition(";")
    if name.strip().lower() != PLAIN_JSON:
        said = f"not {name.strip()[:100]}" if name.strip() else "and it must be said"
        message = f"The Content-Type of a POST is {PLAIN_JSON}, {said}."
        raise HttpRefusal(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept": PLAIN_JSON})
    charset = _parameter(parameters, "charset")
    if charset is not None and charset.strip("\"'").lower() not in ("utf-8", "utf8"):
        message = f"JSON travels as UTF-8, not as {charset[:100]}."
        raise HttpRefusal(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept": PLAIN_JSON})


def _rank(ranges: list[MediaRange], name: str, place: int) -> tuple[float, int, int, str]:
    """How much one type is wanted: its weight, then how early it is listed, then our own order.

    The most specific range decides a type's weight (RFC 9110), so `*/*, text/html;q=0` means
    anything but HTML.
    """
    matching = [
        (entry.specificity(name), -index, entry.quality)
        for index, entry in enumerate(ranges)
        if entry.specificity(name) >= 0
    ]
    if not matching:
        return (0.0, 0, place, name)
    _, early, quality = max(matching)
    return (quality, early, place, name)


def _ranges(accept: str) -> list[MediaRange]:
    if len(accept) > HEADER_CHARS_MAX:
        message = f"An Accept header has at most {HEADER_CHARS_MAX} characters."
        raise HttpRefusal(406, "NOT_ACCEPTABLE", message)
    return [_range(entry) for entry in accept.split(",") if entry.strip()]


def _range(entry: str) -> MediaRange:
    name, _, parameters = entry.partition(";")
    quality = _parameter(parameters, "q")
    try:
        weight = 1.0 if quality is None else float(quality)
    except ValueError:
        weight = 0.0
    # A NaN compares false with everything: it must not win by accident.
    return MediaRange(name.strip().lower(), weight if 0 <= weight <= 1 else 0.0)


def _parameter(parameters: str, wanted: str) -> str | None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == wanted:
            return value.strip()
    return None
