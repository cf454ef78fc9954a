"""Who is asking: tokens that hold, and tokens that do not."""

import time
from typing import Any

import jwt
import pytest

from gateway.authentication import (
    ANONYMOUS,
    LEEWAY_S,
    Authentication,
    AuthenticationSettings,
    Identity,
    mint,
)
from gateway.headers import Headers
from gateway.http_refusal import HttpRefusal

SECRET = "a secret of at least thirty-two bytes"


def claims(**changes: Any) -> dict[str, Any]:
    return {"sub": "42", "exp": int(time.time()) + 3_600, **changes}


def signed(payload: dict[str, Any], secret: str = SECRET) -> str:
    return jwt.encode(payload, secret, algorithm="HS256")


def sent(headers: dict[str, str]) -> Headers:
    return Headers([(name.encode(), value.encode()) for name, value in headers.items()])


def bearer(token: str) -> Headers:
    return sent({"authorization": f"Bearer {token}"})


def with_secret(**changes: Any) -> Authentication:
    return Authentication(AuthenticationSettings(secret=SECRET, **changes))


def refusal(authentication: Authentication, headers: Headers) -> HttpRefusal:
    with pytest.raises(HttpRefusal) as caught:
        authentication.identify(headers)
    assert caught.value.status == 401
    assert caught.value.code == "UNAUTHENTICATED"
    assert caught.value.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    # The two quoted strings, and no quote of the reason's own that would end one early.
    assert caught.value.headers["www-authenticate"].count('"') == 4
    return caught.value


def test_without_credentials_nobody_is_asking() -> None:
    assert with_secret().identify(Headers([])) == ANONYMOUS


@pytest.mark.parametrize("sub", ["1", "42", str(2**63 - 1)])
def test_a_token_names_its_user(sub: str) -> None:
    assert with_secret().identify(bearer(signed(claims(sub=sub)))) == Identity(int(sub))


def test_the_scheme_is_read_in_any_case() -> None:
    headers = sent({"authorization": f"bearer   {signed(claims())}"})
    assert with_secret().identify(headers) == Identity(42)


def test_a_minted_token_is_accepted() -> None:
    assert with_secret().identify(bearer(mint(SECRET, 7))) == Identity(7)


def test_a_service_needs_no_user_and_may_have_one() -> None:
    authentication = with_secret()
    service = mint(SECRET, None, "service")
    assert authentication.identify(bearer(service)) == Identity(None, service=True)
    for_user = mint(SECRET, 7, "read service")
    assert authentication.identify(bearer(for_user)) == Identity(7, service=True)


def test_a_scope_that_only_contains_the_word_is_no_service() -> None:
    token = signed(claims(scope="services self-service"))
    assert with_secret().identify(bearer(token)) == Identity(42)


@pytest.mark.parametrize(
    "sub",
    [
        "0",
        "-1",
        "+1",
        "01",
        "1.0",
        "1e3",
        " 1",
        "x",
        "",
        "\N{FULLWIDTH DIGIT ONE}",
        str(2**63),
        "9" * 5_000,
    ],
)
def test_a_subject_that_is_no_user_id_is_refused(sub: str) -> None:
    refusal(with_secret(), bearer(signed(claims(sub=sub))))


@pytest.mark.parametrize(
    "payload",
    [
        {"sub": "42"},
        claims(exp="soon"),
        claims(sub=42),
        claims(sub=None),
        {"exp": int(time.time()) + 3_600},
        claims(scope=["service"]),
        claims(exp=int(time.time()) - 31),
        claims(nbf=int(time.time()) + 3_600),
    ],
    ids=[
        "no exp",
        "exp of words",
        "sub of digits",
        "sub of nothing",
        "no sub",
        "scope of a list",
        "expired",
        "not yet valid",
    ],
)
def test_claims_that_do_not_hold_are_refused(payload: dict[str, Any]) -> None:
    refusal(with_secret(), bearer(signed(payload)))


def test_clocks_may_differ_by_half_a_minute() -> None:
    now = int(time.time())
    token = signed(claims(exp=now - 20, nbf=now + 20))
    assert with_secret().identify(bearer(token)) == Identity(42)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "\N{SNOWMAN}",
        signed(claims(), "another secret of thirty-two bytes!!"),
        jwt.encode(claims(), "", algorithm="none"),
        jwt.encode(claims(), SECRET.ljust(64), algorithm="HS512"),
        signed(claims(padding="x" * 9_000)),
        jwt.utils.base64url_encode(b"[" * 5_000).decode() + ".e30.x",
    ],
    ids=[
        "empty",
        "a word",
        "three words",
        "a snowman",
        "another secret",
        "no algorithm",
        "another algorithm",
        "too long",
        "nested",
    ],
)
def test_a_token_that_does_not_hold_is_never_anonymous(token: str) -> None:
    refusal(with_secret(), Headers([(b"authorization", b"Bearer " + token.encode())]))


@pytest.mark.parametrize("authorization", ["", "Basic eDp5", "Bearer", "Token x"])
def test_other_credentials_are_never_anonymous(authorization: str) -> None:
    refusal(with_secret(), sent({"authorization": authorization}))


def test_a_good_token_under_another_scheme_is_refused() -> None:
    refusal(with_secret(), sent({"authorization": f"Basic {signed(claims())}"}))


def test_two_authorization_headers_are_refused() -> None:
    header = (b"authorization", f"Bearer {signed(claims())}".encode())
    refusal(with_secret(), Headers([header, header]))


def test_audience_and_issuer_are_checked_where_they_are_set() -> None:
    authentication = with_secret(audience="kith", issuer="platform")
    good = signed(claims(aud="kith", iss="platform"))
    assert authentication.identify(bearer(good)) == Identity(42)
    for wrong in (claims(aud="other", iss="platform"), claims(aud="kith", iss="x"), claims()):
        refusal(authentication, bearer(signed(wrong)))


def test_an_audience_is_of_no_interest_where_none_is_set() -> None:
    assert with_secret().identify(bearer(signed(claims(aud="other")))) == Identity(42)


def test_the_viewer_header_counts_only_where_it_is_allowed() -> None:
    headers = sent({"x-viewer": "42"})
    assert with_secret().identify(headers) == ANONYMOUS
    assert with_secret(allow_x_viewer=True).identify(headers) == Identity(42)
    refusal(with_secret(allow_x_viewer=True), sent({"x-viewer": "me"}))


def test_a_token_outranks_the_viewer_header() -> None:
    headers = sent({"x-viewer": "7", "authorization": f"Bearer {signed(claims())}"})
    assert with_secret(allow_x_viewer=True).identify(headers) == Identity(42)


def test_no_token_is_minted_for_what_is_no_user_id() -> None:
    with pytest.raises(HttpRefusal):
        mint(SECRET, 0)


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens whose signatures were looked at."""
    seen: list[str] = []
    decode = jwt.decode

    def counted(token: str, *args: Any, **options: Any) -> dict[str, Any]:
        seen.append(token)
        return decode(token, *args, **options)

    monkeypatch.setattr(jwt, "decode", counted)
    return seen


def test_the_signature_of_a_token_that_holds_is_verified_once(verified: list[str]) -> None:
    authentication, token = with_secret(), signed(claims())
    for _ in range(3):
        assert authentication.identify(bearer(token)) == Identity(42)
    assert verified == [token]


def test_a_token_is_verified_anew_once_it_has_expired(
    monkeypatch: pytest.MonkeyPatch, verified: list[str]
) -> None:
    expiry = int(time.time()) + 100
    authentication, token = with_secret(), signed(claims(exp=expiry))
    monkeypatch.setattr(time, "time", lambda: expiry + LEEWAY_S - 0.1)
    for _ in range(2):
        authentication.identify(bearer(token))
    assert verified == [token]
    monkeypatch.setattr(time, "time", lambda: float(expiry + LEEWAY_S))
    authentication.identify(bearer(token))
    # PyJWT has a clock of its own and may still let it pass: it is the one to say.
    assert verified == [token, token]


def test_a_token_that_does_not_hold_is_never_remembered(verified: list[str]) -> None:
    authentication, forged = with_secret(), signed(claims(), "another secret of thirty-two bytes!")
    for _ in range(2):
        refusal(authentication, bearer(forged))
    assert verified == [forged, forged]


def test_only_so_many_tokens_are_remembered(
    monkeypatch: pytest.MonkeyPatch, verified: list[str]
) -> None:
    monkeypatch.setattr("gateway.authentication.TOKENS_HELD_MAX", 1)
    authentication = with_secret()
    first, second = (bearer(signed(claims(sub=sub))) for sub in ("1", "2"))
    for headers in (first, second, first):
        authentication.identify(headers)
    assert len(verified) == 3
