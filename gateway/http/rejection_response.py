"""The JSON response with the error of an HttpRejection."""

from starlette.responses import Response

from gateway.http.rejection import HttpRejection
from gateway.http.security_headers import SECURITY_HEADERS


def rejection_response(rejection: HttpRejection, *more: tuple[bytes, bytes]) -> Response:
    """A response with the rejection's status, headers and error, and `more` headers."""
    headers = {"cache-control": "no-store", "vary": "accept", **rejection.headers}
    response = Response(rejection.body, rejection.status, headers, "application/json")
    response.raw_headers.extend((*SECURITY_HEADERS, *more))
    return response
