"""Token claims: where the user id and the scopes are, and what they mean."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graph.edge import MAX_USER_ID, UserId, user_id_of

PATH_CHARS_MAX = 500
CLIENT_CHARS_MAX = 200
_STEP = re.compile(
    r"""\.(?P<plain>[^\W\d][\w-]*) | \["(?P<double>[^"\\]+)"\] | \['(?P<single>[^'\\]+)'\]""", re.X
)
_DOTTED_WORDS = re.compile(r"\w+(\.\w+)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class ClaimError(ValueError):
    """The claims identify nobody. The text is for the client."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller of a request: a user, a trusted service (perhaps for a user), or anonymous."""

    user_id: int | None = None
    service: bool = False
    expires_at: int | None = field(default=None, compare=False)
    """When the token and the leeway end, in seconds since 1970: for long-lived connections."""
    client: str | None = field(default=None, compare=False)
    """The client that got the token (`client_id` or `azp`): for the audit log, and for the budget
    of a service."""


@dataclass(frozen=True, slots=True)
class ClaimPath:
    """The path of a claim in a token: the names of nested objects, and of the claim itself."""

    names: tuple[str, ...]
    text: str = field(compare=False)

    def value_in(self, claims: Mapping[str, Any]) -> Any:
        """The claim's value; None if it is missing."""
        value: Any = claims
        for name in self.names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def put(self, claims: dict[str, Any], value: object) -> None:
        """Set the claim, and create missing objects around it."""
        for name in self.names[:-1]:
            claims = claims.setdefault(name, {})
        claims[self.names[-1]] = value


def parse_claim_path(text: str) -> ClaimPath:
    """The path that `text` names.

    `$.realm_access.roles` and `$["https://app.example/claims"]["user"]` lead through nested
    objects. Of JSONPath (RFC 9535) only such names are supported; unlike there, a name after a dot
    may have hyphens. Other text is the name of one claim, unless it is words with dots between
    them, which could mean both. Raises ValueError with the end of a sentence.
    """
    if not text or len(text) > PATH_CHARS_MAX:
        raise ValueError(f"must have 1 to {PATH_CHARS_MAX} characters.")
    if not text.startswith("$"):
        if _DOTTED_WORDS.fullmatch(text):
            raise ValueError(
                f"is {text!r}, which can be read in two ways: write '$.{text}' for a claim in an"
                f""" object, or '$["{text}"]' for a claim whose name has a dot."""
            )
        return ClaimPath((text,), text)
    names, at = [], 1
    while step := _STEP.match(text, at):
        names.append(next(filter(None, step.groups())))
        at = step.end()
    if at != len(text) or not names:
        raise ValueError(
            f"""is {text!r}, which cannot be read from character {at + 1} on;"""
            """ it must look like $.realm_access.roles or $["https://app.example/claims"].user."""
        )
    return ClaimPath(tuple(names), text)


@dataclass(frozen=True)
class ClaimMapping:
    """Which claims hold the user and the scopes, and which scope identifies a service."""

    user: str = "sub"
    scope: str = "scope"
    service_scope: str = "service"

    @cached_property
    def user_path(self) -> ClaimPath:
        return _parsed_path("KITH_JWT_USER_CLAIM", self.user)

    @cached_property
    def scope_path(self) -> ClaimPath:
        return _parsed_path("KITH_JWT_SCOPE_CLAIM", self.scope)

    def check(self) -> None:
        """Raise ValueError, which names the variable, for an invalid path."""
        name_pairs = zip(self.user_path.names, self.scope_path.names, strict=False)
        if all(one == other for one, other in name_pairs):
            raise ValueError(
                "KITH_JWT_USER_CLAIM and KITH_JWT_SCOPE_CLAIM must be two claims, neither of them"
                " in the other."
            )
        if not self.service_scope or self.service_scope.split() != [self.service_scope]:
            raise ValueError(
                f"KITH_JWT_SERVICE_SCOPE is {self.service_scope!r}; it must be one word."
            )

    def identity(self, claims: Mapping[str, Any], expires_at: int) -> Identity:
        """The identity in verified claims. Raises ClaimError."""
        service = self.service_scope in self._scopes(claims)
        value = self.user_path.value_in(claims)
        # RFC 9068 section 2.2: without a user, the subject is the client itself.
        clients = [claims[name] for name in ("client_id", "azp") if claims.get(name) is not None]
        is_client = str(value) in map(str, clients)
        if value is not None and not is_client:
            return Identity(self._user_id(value), service, expires_at, _client(clients))
        if service:
            return Identity(None, True, expires_at, _client(clients))
        raise ClaimError(
            f"The token names no user: it needs the claim `{self.user}` with a user's id, or"
            f" `{self.service_scope}` in the claim `{self.scope}` if it is a service's."
        )

    def _scopes(self, claims: Mapping[str, Any]) -> list[str]:
        """The scopes; none without the claim. Raises ClaimError."""
        value = self.scope_path.value_in(claims)
        if value is None:
            return []
        if isinstance(value, str):
            return value.split(" ")  # RFC 6749 section 3.3: other white space separates nothing
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        raise ClaimError(
            f"The token's `{self.scope}` must be a string of words with spaces between, or a list"
            " of strings."
        )

    def _user_id(self, value: object) -> UserId:
        """The user's id in the value of the claim. Raises ClaimError."""
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        found = user_id_of(text) if isinstance(text, str) else None
        if found is not None:
            return found
        message = (
            f"The token's `{self.user}` must be a user's id: a decimal number from 1 to"
            f" {MAX_USER_ID}."
        )
        if isinstance(text, str) and not text.isdecimal():
            kind = "a UUID" if _UUID.fullmatch(text) else "another text"
            message += (
                f" It is {kind}: set KITH_JWT_USER_CLAIM to the claim of your tokens that holds"
                " the number."
            )
        raise ClaimError(message)


def _client(named: Sequence[object]) -> str | None:
    """The name of the client, cut to `CLIENT_CHARS_MAX`. Raises ClaimError for one that cannot be
    stored."""
    if not named:
        return None
    client = str(named[0])[:CLIENT_CHARS_MAX]
    if not client.isprintable():  # as surrogates and NUL are not
        raise ClaimError("The token's `client_id` or `azp` must be a printable text.")
    return client


def _parsed_path(variable: str, text: str) -> ClaimPath:
    try:
        return parse_claim_path(text)
    except ValueError as error:
        raise ValueError(f"{variable} {error}") from None
