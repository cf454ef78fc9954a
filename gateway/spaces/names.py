"""Finds the name of a request's space: in its path, in a header, and in a claim of its token."""

import jwt

from engine.cache import LruCache
from gateway.http.bearer import rejected, token_in
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from gateway.spaces.settings import NamedBy, SpaceSource

SPACE_HEADER = b"kith-space"
PATH_HEAD = "/spaces/"
PATH_TAIL = "/graphql"
TOKENS_HELD_MAX = 10_000
TOKENS_HELD_BYTES_MAX = 16 << 20
SHOWN_CHARS_MAX = 100
NO_HEADER = "This gateway reads no space from the header Kith-Space: see KITH_SPACE_FROM."


class SpaceNames:
    """Finds the names of spaces, and does not check that they exist.

    All parts that name a space must agree. A request that names none is in the default space. So is
    a token without the claim, if claims name spaces: otherwise, a user of one space could be the
    user of the same id in another one.
    """

    def __init__(self, default: str, named_by: NamedBy) -> None:
        self._default = default
        self._sources = named_by.sources
        self._claim = named_by.claim
        self._claimed: LruCache[bytes, str] = LruCache(
            entries=TOKENS_HELD_MAX, weight=TOKENS_HELD_BYTES_MAX
        )

    def name_of(self, in_path: str | None, headers: Headers) -> str:
        """The name of the space of a request, whose path has the name `in_path`.

        Raises:
            HttpRejection: 403 SPACE_CONFLICT if two parts disagree; 401 for an invalid claim; 400
                for a header that is not read here, instead of answering from another space.
        """
        found: dict[str, str] = {}
        if SpaceSource.PATH in self._sources and in_path is not None:
            found["path"] = in_path
        if SPACE_HEADER in headers:
            if SpaceSource.HEADER not in self._sources:
                raise HttpRejection(400, "BAD_REQUEST", NO_HEADER)
            for value in headers.every(SPACE_HEADER):
                _add(found, "header Kith-Space", value.decode("latin-1").strip())
        if SpaceSource.CLAIM in self._sources:
            claimed = self._of_token(headers.get(b"authorization"))
            if claimed is not None:
                _add(found, "token", claimed)
        return next(iter(found.values()), self._default)

    def _of_token(self, credentials: bytes | None) -> str | None:
        """The space that the token names, or the default one. None without a token, or for one that
        cannot be read: it is rejected later. Raises HttpRejection 401 if the claim is no text."""
        if credentials is None:
            return None
        known = self._claimed.get(credentials)
        if known is not None:
            return known
        try:
            # Not verified yet: the space that it names has the keys that verify it.
            claims = jwt.decode(token_in(credentials), options={"verify_signature": False})
        except (HttpRejection, jwt.PyJWTError):
            return None
        value = self._claim.value_in(claims)
        if value is None:
            value = self._default
        if not isinstance(value, str):
            raise rejected(f"The token's `{self._claim.text}` must be the name of a space.")
        self._claimed.put(credentials, value, len(credentials))
        return value


def name_in_path(path: str) -> str | None:
    """The name in `/spaces/NAME/graphql`, valid or not; None for another path."""
    if not (path.startswith(PATH_HEAD) and path.endswith(PATH_TAIL)):
        return None
    return path[len(PATH_HEAD) : -len(PATH_TAIL)]


def _add(found: dict[str, str], part: str, name: str) -> None:
    """Add the name in one part of a request. Raises HttpRejection 403 if another part disagrees."""
    for other, named in found.items():
        if named != name:
            message = (
                f"The {other} names the space {named[:SHOWN_CHARS_MAX]!r}, and the {part}"
                f" {name[:SHOWN_CHARS_MAX]!r}. They must name the same one."
            )
            raise HttpRejection(403, "SPACE_CONFLICT", message)
    found[part] = name


def unknown_space(name: str) -> HttpRejection:
    """The rejection of a request whose space does not exist, or is not served here."""
    message = f"There is no space {name[:SHOWN_CHARS_MAX]!r} here."
    return HttpRejection(404, "SPACE_UNKNOWN", message)
