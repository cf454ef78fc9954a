"""The settings of one space among several: environment variables that replace the process's own."""

from collections.abc import Iterator, Mapping

from gateway.settings.declarations.authentication import ClaimVariables, TokenKeyVariables
from gateway.settings.declarations.caches import CacheVariables, VerificationVariables
from gateway.settings.declarations.events import EventVariables
from gateway.settings.declarations.operations import CostVariables
from gateway.settings.declarations.relationships import AffinityVariables, RelationshipVariables
from gateway.settings.environment import ConfigurationError
from gateway.settings.fields import Group, is_secret, variable_of

GROUPS: tuple[type[Group], ...] = (
    TokenKeyVariables,
    ClaimVariables,
    RelationshipVariables,
    AffinityVariables,
    CacheVariables,
    EventVariables,
    VerificationVariables,
    CostVariables,
)
"""The groups whose settings each space may have. The others belong to the process."""

OF_PROCESS = frozenset({"KITH_TRUSTED_PROXIES", "KITH_RESPONSE_BYTES_MAX"})
"""Variables in `GROUPS` that a space cannot set."""
CONNECTION_VARIABLES = frozenset(
    {"DATABASE_URL_FILE", "KITH_DATABASE_PASSWORD_FILE", "KITH_POOL_MAX"}
)
"""For a space that is read with another database role, as behind some poolers."""

KEYS = ("KITH_JWT_SECRET", "KITH_JWT_PUBLIC_KEY_FILE", "KITH_JWKS_FILE", "KITH_JWKS_URL")
"""A space that sets one of these uses none of the process's keys."""

VALUE_CHARS_MAX = 2_000


def variables() -> frozenset[str]:
    """The variables that a space may set. Of a secret, only the file: the space directory must not
    contain secrets."""
    return frozenset(_variables()) - OF_PROCESS | CONNECTION_VARIABLES


def _variables() -> Iterator[str]:
    for group in GROUPS:
        for field in group.model_fields.values():
            name = variable_of(field)
            yield f"{name}_FILE" if is_secret(field) else name


def check_variables(overrides: Mapping[str, str]) -> None:
    """Raise ConfigurationError for a variable that no space can set, and a value that is too
    long."""
    known = variables()
    for name, value in overrides.items():
        if name not in known:
            hint = f"{name}_FILE"
            advice = (
                f"Name a file with it: {hint}." if hint in known else "docs/spaces.md lists them."
            )
            raise ConfigurationError(f"{name[:100]} is not a setting of a space. {advice}")
        if len(value) > VALUE_CHARS_MAX:
            raise ConfigurationError(f"{name} must have at most {VALUE_CHARS_MAX} characters.")


def environment_of(environ: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process, with the settings that a space overrides.

    Raises:
        ConfigurationError: a space cannot have one of the settings.
    """
    check_variables(overrides)
    replaced = {name.removesuffix("_FILE") for name in overrides if name.endswith("_FILE")}
    if any(name in overrides or f"{name}_FILE" in overrides for name in KEYS):
        replaced |= {*KEYS, *(f"{name}_FILE" for name in KEYS)}
    kept = {name: value for name, value in environ.items() if name not in replaced}
    return {**kept, **overrides}
