"""Sends requests one after another, to read the answers and not to measure speed."""

import http.client
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from bench.graphql_requests import Request


class WrongAnswer(Exception):
    """A wrong answer. The text names the server, the request and the answer."""


def answers(url: str, requests: Iterable[Request]) -> Iterator[bytes]:
    """The body of each answer.

    Raises WrongAnswer if a status is not 200 or a body contains GraphQL errors.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        for request in requests:
            connection.request("POST", "/graphql", request.body, request.headers)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200 or b'"errors"' in body:
                raise WrongAnswer(f"{url}: {response.status} {body[:500]!r} to {request.body!r}")
            yield body
    except (OSError, http.client.HTTPException) as error:
        raise WrongAnswer(f"{url} gave no answer: {error!r}") from error
    finally:
        connection.close()
