"""The space that a request names in its path, header and token, which must agree."""

import jwt
import pytest

from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection
from gateway.spaces.names import SpaceNames, name_in_path
from gateway.spaces.settings import NamedBy, SpaceSource

KEY = "a-secret-that-only-tests-sign-with"


def headers(header: str | None = None, **claims: object) -> Headers:
    raw = [] if header is None else [(b"kith-space", header.encode())]
    if claims:
        raw.append((b"authorization", f"Bearer {jwt.encode(claims, KEY)}".encode()))
    return Headers(raw)


def names(*sources: SpaceSource) -> SpaceNames:
    return SpaceNames("public", NamedBy(frozenset(sources)))


ALL_SOURCES = names(*SpaceSource)


@pytest.mark.parametrize(
    ("path", "given", "space"),
    [
        ("/graphql", headers(), "public"),
        ("/spaces/shop/graphql", headers(), "shop"),
        ("/graphql", headers("shop"), "shop"),
        ("/graphql", headers(space="shop"), "shop"),
        ("/graphql", headers(sub="1"), "public"),
        ("/spaces/shop/graphql", headers("shop"), "shop"),
        ("/spaces/public/graphql", headers(sub="1"), "public"),
        ("/spaces//graphql", headers(), ""),
    ],
)
def test_path_header_or_claim_names_the_space(path: str, given: Headers, space: str) -> None:
    assert ALL_SOURCES.name_of(name_in_path(path), given) == space


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/spaces/shop/graphql", headers("biz")),
        ("/spaces/shop/graphql", Headers([(b"kith-space", b"shop"), (b"kith-space", b"biz")])),
        ("/graphql", Headers([(b"kith-space", b"shop"), (b"kith-space", b"biz")])),
        ("/spaces//graphql", headers("biz")),
    ],
)
def test_a_request_that_names_two_spaces_is_rejected(path: str, given: Headers) -> None:
    with pytest.raises(HttpRejection) as rejected:
        ALL_SOURCES.name_of(name_in_path(path), given)
    assert (rejected.value.status, rejected.value.code) == (403, "SPACE_CONFLICT")


def test_a_token_without_the_claim_is_for_the_default_space_only() -> None:
    raw = [*headers("shop").items(), *headers(sub="1").items()]
    with pytest.raises(HttpRejection) as rejected:
        ALL_SOURCES.name_of(None, Headers(raw))
    assert rejected.value.code == "SPACE_CONFLICT"
    assert names(SpaceSource.HEADER).name_of(None, Headers(raw)) == "shop"


def test_only_configured_sources_are_read() -> None:
    assert names(SpaceSource.CLAIM).name_of("shop", headers()) == "public"
    assert names(SpaceSource.PATH).name_of(None, headers(space="shop")) == "public"


@pytest.mark.parametrize("credentials", [b"Bearer no.token", b"Basic YTpi", b"", b"Bearer \xff"])
def test_an_unreadable_token_names_the_default_space(credentials: bytes) -> None:
    assert ALL_SOURCES.name_of(None, Headers([(b"authorization", credentials)])) == "public"


@pytest.mark.parametrize("path", ["/graphql", "/spaces/shop", "/spacesshop/graphql", "/spaces"])
def test_other_paths_name_no_space(path: str) -> None:
    assert name_in_path(path) is None
