"""The media types of /graphql, and the check of request bodies.

Sources: RFC 9110 section 8.3, and the GraphQL-over-HTTP specification (media types).
"""

from functools import lru_cache

from gateway.http.rejection import HttpRejection

GRAPHQL_JSON = "application/graphql-response+json"
PLAIN_JSON = "application/json"
EVENT_STREAM = "text/event-stream"
HTML = "text/html"


@lru_cache(maxsize=512)
def require_json(content_type: bytes | None) -> None:
    """Accept only UTF-8 JSON bodies.

    A page of another site can make a browser send a form, multipart or text/plain body without a
    preflight (a CORS "simple request"). Rejecting these prevents cross-site request forgery.

    Raises HttpRejection 415.
    """
    name, _, parameters = (content_type or b"").decode("latin-1").partition(";")
    if name.strip().lower() != PLAIN_JSON:
        message = (
            f"The Content-Type of a POST must be {PLAIN_JSON}, got {name.strip()[:100] or 'none'}."
        )
        raise HttpRejection(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept": PLAIN_JSON})
    charset = _parameter_value(parameters, "charset")
    if charset is not None and charset.strip("\"'").lower() not in ("utf-8", "utf8"):
        message = f"The charset must be utf-8, got {charset[:100]}."
        raise HttpRejection(415, "UNSUPPORTED_MEDIA_TYPE", message, {"accept": PLAIN_JSON})


def _parameter_value(parameters: str, wanted: str) -> str | None:
    """The value of a media type's parameter, with its quotes. None: it is not given."""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == wanted:
            return value.strip()
    return None
