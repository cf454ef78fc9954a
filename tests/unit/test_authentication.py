"""The identity of a caller: valid and invalid tokens."""

import time
import warnings
from typing import Any

import jwt
import pytest

from gateway.authentication.identify import (
    ANONYMOUS,
    Authentication,
    AuthenticationSettings,
    Identity,
    mint,
)
from gateway.authentication.settings import AcceptedTokens
from gateway.authentication.token_claims import ClaimMapping
from gateway.http.bearer import TOKEN_CHARS_MAX
from gateway.http.headers import Headers
from gateway.http.rejection import HttpRejection

SECRET = "a secret of at least thirty-two bytes"


def claims(**changes: Any) -> dict[str, Any]:
    return {"sub": "42", "exp": int(time.time()) + 3_600, **changes}


def signed(payload: dict[str, Any], secret: str = SECRET) -> str:
    return jwt.encode(payload, secret, algorithm="HS256")


def headers_of(headers: dict[str, str]) -> Headers:
    return Headers([(name.encode(), value.encode()) for name, value in headers.items()])


def bearer(token: str) -> Headers:
    return headers_of({"authorization": f"Bearer {token}"})


def with_secret(**changes: Any) -> Authentication:
    return Authentication(AuthenticationSettings(secrets=(SECRET,), **changes))


def assert_rejected(authentication: Authentication, headers: Headers) -> HttpRejection:
    with pytest.raises(HttpRejection) as caught:
        authentication.identify(headers)
    assert caught.value.status == 401
    assert caught.value.code == "UNAUTHENTICATED"
    assert caught.value.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    # Those of two quoted strings. A quote within the reason would end its string early.
    assert caught.value.headers["www-authenticate"].count('"') == 4
    return caught.value


def test_a_token_is_verified_by_identify_only(monkeypatch: pytest.MonkeyPatch) -> None:
    authentication, headers = with_secret(), bearer(signed(claims()))
    assert authentication.verified(headers) == ANONYMOUS
    authentication.identify(headers)
    assert authentication.verified(headers) == Identity(42)
    twice = Headers([(b"authorization", headers[b"authorization"])] * 2)
    assert authentication.verified(twice) == ANONYMOUS
    later = time.time() + 7_200
    monkeypatch.setattr(time, "time", lambda: later)
    assert authentication.verified(headers) == ANONYMOUS


def test_the_viewer_header_is_verified_at_once() -> None:
    authentication = with_secret(development=True)
    assert authentication.verified(headers_of({"x-viewer": "7"})) == Identity(7)
    assert authentication.verified(headers_of({"x-viewer": "nobody"})) == ANONYMOUS
    assert authentication.verified(Headers([])) == ANONYMOUS


def test_a_request_without_credentials_is_anonymous() -> None:
    assert with_secret().identify(Headers([])) == ANONYMOUS


@pytest.mark.parametrize("sub", ["1", "42", str(2**63 - 1)])
def test_the_subject_of_a_token_is_the_user(sub: str) -> None:
    assert with_secret().identify(bearer(signed(claims(sub=sub)))) == Identity(int(sub))


def test_the_scheme_is_read_in_upper_and_lower_case() -> None:
    headers = headers_of({"authorization": f"bearer   {signed(claims())}"})
    assert with_secret().identify(headers) == Identity(42)


def test_a_minted_token_is_accepted() -> None:
    assert with_secret().identify(bearer(mint(SECRET, 7))) == Identity(7)


def test_the_token_of_a_service_may_lack_a_user() -> None:
    authentication = with_secret()
    service = mint(SECRET, None, "service")
    assert authentication.identify(bearer(service)) == Identity(None, service=True)
    for_user = mint(SECRET, 7, "read service")
    assert authentication.identify(bearer(for_user)) == Identity(7, service=True)


def test_a_scope_that_merely_contains_the_word_service_makes_no_service() -> None:
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
def test_a_subject_that_is_not_a_user_id_is_rejected(sub: str) -> None:
    assert_rejected(with_secret(), bearer(signed(claims(sub=sub))))


@pytest.mark.parametrize(
    "payload",
    [
        {"sub": "42"},
        claims(exp="soon"),
        claims(sub=42.0),
        claims(sub=True),
        claims(sub=None),
        {"exp": int(time.time()) + 3_600},
        claims(scope={"service": True}),
        claims(scope=["service", 7]),
        claims(exp=int(time.time()) - 31),
        claims(exp=None),
        claims(exp=float("inf")),
        claims(exp=[]),
        claims(iat=int(time.time()) + 3_600),
        claims(nbf=int(time.time()) + 3_600),
    ],
    ids=[
        "no exp",
        "exp is a text",
        "sub is a float",
        "sub is a boolean",
        "sub is null",
        "no sub",
        "scope is an object",
        "scope is a list with a number",
        "expired",
        "exp is null",
        "exp is infinite",
        "exp is a list",
        "issued in the future",
        "not yet valid",
    ],
)
def test_tokens_with_invalid_claims_are_rejected(payload: dict[str, Any]) -> None:
    assert_rejected(with_secret(), bearer(signed(payload)))


@pytest.mark.parametrize("sub", [1, 2**63 - 1])
def test_a_user_id_may_be_a_number(sub: int) -> None:
    assert with_secret().identify(bearer(signed(claims(sub=sub)))) == Identity(sub)


@pytest.mark.parametrize("scope", ["read service", ["read", "service"], ["service"]])
def test_scopes_are_a_text_with_spaces_or_a_list(scope: object) -> None:
    token = signed(claims(scope=scope))
    assert with_secret().identify(bearer(token)) == Identity(42, service=True)


def test_tokens_signed_with_any_of_several_secrets_are_accepted() -> None:
    new, old = "the new secret of thirty-two bytes!!!", SECRET
    authentication = Authentication(AuthenticationSettings(secrets=(new, old)))
    for secret in (new, old):
        assert authentication.identify(bearer(signed(claims(), secret))) == Identity(42)
    assert_rejected(authentication, bearer(signed(claims(), "another secret of thirty-two bytes!")))


def test_a_longer_hash_needs_a_longer_secret() -> None:
    for algorithm, bytes_min in (("HS384", 48), ("HS512", 64)):
        for length in (bytes_min - 1, bytes_min):
            secret = SECRET.ljust(length, "x")
            settings = AuthenticationSettings(secrets=(secret,))
            token = bearer(_hmac_token(secret, algorithm))
            if length < bytes_min:
                assert (
                    "its algorithm must be"
                    in assert_rejected(Authentication(settings), token).message
                )
            else:
                assert Authentication(settings).identify(token) == Identity(42)


def _hmac_token(secret: str, algorithm: str) -> str:
    with warnings.catch_warnings(action="ignore", category=jwt.InsecureKeyLengthWarning):
        return jwt.encode(claims(), secret, algorithm)


@pytest.mark.parametrize("leeway_s", [0, 300])
def test_the_leeway_for_expiry_is_configured(leeway_s: int) -> None:
    authentication = with_secret(accepted=AcceptedTokens(leeway_s=leeway_s))
    now = int(time.time())
    token = bearer(signed(claims(exp=now + 1 - leeway_s)))
    assert authentication.identify(token).expires_at == now + 1
    assert_rejected(authentication, bearer(signed(claims(exp=now - leeway_s - 1))))


def test_a_token_with_an_unknown_critical_header_is_rejected() -> None:
    token = jwt.encode(claims(), SECRET, headers={"crit": ["x"], "x": 1})
    assert "critical" in assert_rejected(with_secret(), bearer(token)).message


def test_the_default_leeway_covers_clocks_that_differ_by_20_seconds() -> None:
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
        signed(claims(padding="x" * 13_000)),
        "x" * 100_000,
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
        "much too long",
        "nested",
    ],
)
def test_an_invalid_token_is_rejected_and_not_treated_as_anonymous(token: str) -> None:
    assert_rejected(with_secret(), Headers([(b"authorization", b"Bearer " + token.encode())]))


@pytest.mark.parametrize("authorization", ["", "Basic eDp5", "Bearer", "Token x"])
def test_other_credentials_are_rejected_and_not_treated_as_anonymous(authorization: str) -> None:
    with pytest.raises(HttpRejection, match="401 UNAUTHENTICATED"):
        with_secret().identify(headers_of({"authorization": authorization}))


def test_a_valid_token_under_another_scheme_is_rejected_without_an_error_code() -> None:
    with pytest.raises(HttpRejection, match="401 UNAUTHENTICATED") as caught:
        with_secret().identify(headers_of({"authorization": f"Basic {signed(claims())}"}))
    assert caught.value.headers == {"www-authenticate": "Bearer"}


def test_two_authorization_headers_are_a_bad_request() -> None:
    header = (b"authorization", f"Bearer {signed(claims())}".encode())
    with pytest.raises(HttpRejection, match="400 BAD_REQUEST") as caught:
        with_secret().identify(Headers([header, header]))
    assert caught.value.headers["www-authenticate"].startswith('Bearer error="invalid_request"')


def test_a_token_of_the_maximum_length_is_read_and_a_longer_header_is_rejected() -> None:
    token = signed(claims())
    padded = Headers([(b"authorization", b"Bearer " + token.encode() + b" " * 17_000 + b"x")])
    assert "at most 16384 characters" in assert_rejected(with_secret(), padded).message
    overhead = len(signed(claims(padding="")))
    longest = signed(claims(padding="x" * ((TOKEN_CHARS_MAX - overhead) * 3 // 4 - 3)))
    assert TOKEN_CHARS_MAX - 10 < len(longest) <= TOKEN_CHARS_MAX
    assert with_secret().identify(bearer(longest)) == Identity(42)


def test_audience_and_issuer_are_checked_if_they_are_configured() -> None:
    authentication = with_secret(accepted=AcceptedTokens(("other", "kith"), ("old", "platform")))
    valid = signed(claims(aud="kith", iss="platform"))
    assert authentication.identify(bearer(valid)) == Identity(42)
    for wrong in (
        claims(aud="another", iss="platform"),
        claims(aud="kith", iss="x"),
        claims(),
    ):
        assert_rejected(authentication, bearer(signed(wrong)))


def test_the_audience_is_ignored_if_none_is_configured() -> None:
    assert with_secret().identify(bearer(signed(claims(aud="other")))) == Identity(42)


def test_the_viewer_header_is_read_only_in_development() -> None:
    headers = headers_of({"x-viewer": "42"})
    assert with_secret().identify(headers) == ANONYMOUS
    assert with_secret(development=True).identify(headers) == Identity(42)
    assert_rejected(with_secret(development=True), headers_of({"x-viewer": "me"}))


def test_a_token_takes_precedence_over_the_viewer_header() -> None:
    headers = headers_of({"x-viewer": "7", "authorization": f"Bearer {signed(claims())}"})
    assert with_secret(development=True).identify(headers) == Identity(42)


def test_a_minted_token_has_the_configured_claims() -> None:
    settings = AuthenticationSettings(
        secrets=(SECRET,),
        accepted=AcceptedTokens(("kith",), ("platform",)),
        claims=ClaimMapping('$["https://app.example"].user', "$.access.roles", "back-end"),
    )
    headers = bearer(mint(SECRET, 42, "read back-end", settings=settings))
    assert Authentication(settings).identify(headers) == Identity(42, service=True)


def test_no_token_is_minted_for_an_invalid_user_id() -> None:
    with pytest.raises(HttpRejection):
        mint(SECRET, 0)


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens whose signatures were verified."""
    seen: list[str] = []
    decode = jwt.decode

    def counted(token: str, *args: Any, **options: Any) -> dict[str, Any]:
        seen.append(token)
        return decode(token, *args, **options)

    monkeypatch.setattr(jwt, "decode", counted)
    return seen


def test_the_signature_of_a_valid_token_is_verified_once(verified: list[str]) -> None:
    authentication, token = with_secret(), signed(claims())
    for _ in range(3):
        assert authentication.identify(bearer(token)) == Identity(42)
    assert verified == [token]


def test_a_token_is_verified_again_after_its_expiry(
    monkeypatch: pytest.MonkeyPatch, verified: list[str]
) -> None:
    expiry = int(time.time()) + 100
    authentication, token = with_secret(), signed(claims(exp=expiry))
    monkeypatch.setattr(time, "time", lambda: expiry + 29.9)
    for _ in range(2):
        authentication.identify(bearer(token))
    assert verified == [token]
    monkeypatch.setattr(time, "time", lambda: expiry + 30.0)
    authentication.identify(bearer(token))
    # PyJWT reads another clock and may still accept the token, so it must decide.
    assert verified == [token, token]


async def test_an_expired_token_is_verified_in_turns_like_one_that_was_never_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = int(time.time())
    authentication, headers = with_secret(), bearer(signed(claims(exp=now + 1)))
    assert authentication.identify(headers) == Identity(42)
    assert [authentication.turn_to_verify(headers) for _ in range(9)] == [None] * 9

    def expired(*_: object) -> dict[str, Any]:
        raise jwt.ExpiredSignatureError

    monkeypatch.setattr(time, "time", lambda: now + 3_600)
    monkeypatch.setattr(Authentication, "_verified_claims", expired)
    assert_rejected(authentication, headers)
    assert authentication.turn_to_verify(headers) is None
    assert authentication.turn_to_verify(headers) is None
    assert [authentication.turn_to_verify(headers) for _ in range(9)][-1] is not None


def test_an_invalid_token_is_verified_each_time(verified: list[str]) -> None:
    authentication, forged = with_secret(), signed(claims(), "another secret of thirty-two bytes!")
    for _ in range(2):
        assert_rejected(authentication, bearer(forged))
    assert verified == [forged, forged]


def test_the_number_of_remembered_tokens_is_limited(
    monkeypatch: pytest.MonkeyPatch, verified: list[str]
) -> None:
    monkeypatch.setattr("gateway.authentication.identify.TOKENS_HELD_MAX", 1)
    authentication = with_secret()
    first, second = (bearer(signed(claims(sub=sub))) for sub in ("1", "2"))
    for headers in (first, second, first):
        authentication.identify(headers)
    assert len(verified) == 3
