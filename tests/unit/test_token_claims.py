"""Claims: their paths, user ids, scopes, and the tokens of identity providers."""

from typing import Any

import pytest

from gateway.authentication.token_claims import ClaimError, ClaimMapping, Identity, parse_claim_path

HASURA = "https://hasura.io/jwt/claims"
UUID = "5be86359-073c-434b-ad2d-a3932222dabe"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sub", ["sub"]),
        ("https://app.example/kith_user_id", ["https://app.example/kith_user_id"]),
        ("cognito:username", ["cognito:username"]),
        ("$.sub", ["sub"]),
        ("$.realm_access.roles", ["realm_access", "roles"]),
        ('$["a.b"]', ["a.b"]),
        (f'$["{HASURA}"]["x-hasura-user-id"]', [HASURA, "x-hasura-user-id"]),
        (f"$['{HASURA}'].x-hasura-user-id", [HASURA, "x-hasura-user-id"]),
        ('$.a["b]c"].d', ["a", "b]c", "d"]),
    ],
)
def test_a_path_names_a_claim(text: str, names: list[str]) -> None:
    assert list(parse_claim_path(text).names) == names


@pytest.mark.parametrize(
    "text",
    ["", "$", "$.", "$..a", "$.a.", "$.a[0]", "$.*", '$["a', '$[""]', "$a", "a.b", "x" * 501],
)
def test_an_invalid_claim_path_is_rejected_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"must have 1 to|must look like|in two ways"):
        parse_claim_path(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "$.a", "scope": "$.a.b"}, "neither of them in the other"),
        ({"user": "scope"}, "neither of them in the other"),
        ({"service_scope": "two words"}, "KITH_JWT_SERVICE_SCOPE is 'two words'"),
        ({"user": "$x"}, "KITH_JWT_USER_CLAIM is"),
        ({"scope": "a.b"}, "KITH_JWT_SCOPE_CLAIM is"),
    ],
)
def test_an_invalid_mapping_is_rejected(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClaimMapping(**changes).check()


def test_a_claim_within_a_value_that_is_not_an_object_is_missing() -> None:
    mapping = ClaimMapping(user="$.a.b")
    values: list[Any] = ["text", 7, ["b"], None, {}]
    for value in values:
        with pytest.raises(ClaimError, match=r"needs the claim `\$\.a\.b`"):
            mapping.identity({"a": value}, 0)


@pytest.mark.parametrize(
    ("sub", "kind"),
    [(UUID, "a UUID"), ("auth0|6543210fedcba", "another text"), ("q3Zk0xVt5mS1", "another text")],
)
def test_the_error_for_a_subject_that_is_not_a_number_names_the_setting(
    sub: str, kind: str
) -> None:
    with pytest.raises(ClaimError, match=f"It is {kind}: set KITH_JWT_USER_CLAIM") as caught:
        ClaimMapping().identity({"sub": sub}, 0)
    assert sub not in str(caught.value)


@pytest.mark.parametrize("name", ["client_id", "azp"])
@pytest.mark.parametrize("client", ["77", 77])
def test_a_token_of_a_client_without_the_scope_of_services_is_rejected(
    name: str, client: object
) -> None:
    without_scope = {"sub": "77", name: client}
    assert ClaimMapping().identity({**without_scope, "scope": "service"}, 0) == Identity(None, True)
    with pytest.raises(ClaimError, match="names no user"):
        ClaimMapping().identity(without_scope, 0)


@pytest.mark.parametrize("client", ["\ud800", "a\0", "a\nb"])
def test_an_unprintable_client_name_is_rejected(client: str) -> None:
    with pytest.raises(ClaimError, match="printable"):
        ClaimMapping().identity({"scope": "service", "azp": client}, 0)


def test_the_service_scope_is_configurable() -> None:
    mapping = ClaimMapping(scope="role", service_scope="service_role")
    assert mapping.identity({"role": "service_role"}, 0) == Identity(None, True)
    assert mapping.identity({"role": "service", "sub": "7"}, 0) == Identity(7)


AUTH0 = ClaimMapping(user="https://app.example/kith_user_id", scope="permissions")
KEYCLOAK = ClaimMapping(
    user="kith_user_id", scope="$.realm_access.roles", service_scope="kith-service"
)
SUPABASE = ClaimMapping(
    user="$.app_metadata.kith_user_id", scope="role", service_scope="service_role"
)
FIREBASE = ClaimMapping(user="kith_user_id")
OF_HASURA = ClaimMapping(
    user=f'$["{HASURA}"]["x-hasura-user-id"]',
    scope=f'$["{HASURA}"]["x-hasura-allowed-roles"]',
)


@pytest.mark.parametrize(
    ("mapping", "claims", "identity"),
    [
        (
            AUTH0,
            {
                "iss": "https://tenant.eu.auth0.com/",
                "sub": "auth0|6543210fedcba",
                "aud": ["https://kith.example", "https://tenant.eu.auth0.com/userinfo"],
                "scope": "openid profile",
                "azp": "AbCdEf0123456789",
                "permissions": [],
                "https://app.example/kith_user_id": "42",
            },
            Identity(42),
        ),
        (
            AUTH0,
            {
                "sub": "AbCdEf0123456789@clients",
                "azp": "AbCdEf0123456789",
                "gty": "client-credentials",
                "scope": "service",
                "permissions": ["service"],
            },
            Identity(None, True),
        ),
        (
            KEYCLOAK,
            {
                "sub": UUID,
                "typ": "Bearer",
                "azp": "web",
                "realm_access": {"roles": ["offline_access", "default-roles-app"]},
                "scope": "openid email",
                "kith_user_id": 42,
            },
            Identity(42),
        ),
        (
            KEYCLOAK,
            {
                "sub": UUID,
                "azp": "back-end",
                "client_id": "back-end",
                "realm_access": {"roles": ["offline_access", "kith-service"]},
                "preferred_username": "service-account-back-end",
            },
            Identity(None, True),
        ),
        (
            SUPABASE,
            {
                "sub": UUID,
                "aud": "authenticated",
                "role": "authenticated",
                "aal": "aal1",
                "app_metadata": {"provider": "email", "kith_user_id": 42},
                "user_metadata": {"kith_user_id": 7},
                "is_anonymous": False,
            },
            Identity(42),
        ),
        (SUPABASE, {"role": "service_role", "ref": "abcdefgh"}, Identity(None, True)),
        (
            FIREBASE,
            {
                "user_id": "q3Zk0xVt5mS1",
                "sub": "q3Zk0xVt5mS1",
                "auth_time": 1_700_000_000,
                "firebase": {"identities": {}, "sign_in_provider": "password"},
                "kith_user_id": 42,
            },
            Identity(42),
        ),
        (
            OF_HASURA,
            {
                "sub": UUID,
                HASURA: {
                    "x-hasura-user-id": "42",
                    "x-hasura-default-role": "user",
                    "x-hasura-allowed-roles": ["user", "service"],
                },
            },
            Identity(42, True),
        ),
    ],
    ids=[
        "Auth0",
        "Auth0 for a service",
        "Keycloak",
        "Keycloak for a service",
        "Supabase",
        "Supabase for a service",
        "Firebase",
        "Hasura",
    ],
)
def test_the_claims_of_each_provider_are_mapped_to_an_identity(
    mapping: ClaimMapping, claims: dict[str, Any], identity: Identity
) -> None:
    mapping.check()
    assert mapping.identity(claims, 0) == identity


def test_only_a_space_separates_scopes() -> None:
    mapping = ClaimMapping()
    assert mapping.identity({"sub": "7", "scope": "read service"}, 0).service
    for scope in ("read\u00a0service", "read\tservice", "read\nservice", "xservice", "Service"):
        assert not mapping.identity({"sub": "7", "scope": scope}, 0).service, scope


def test_a_subject_with_the_text_none_is_rejected() -> None:
    with pytest.raises(ClaimError, match="must be a user's id"):
        ClaimMapping().identity({"sub": "None", "scope": "service"}, 0)
