"""How a setting is declared, and the types of settings."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

NUMBER_MAX = 2**31 - 1
A_DAY_S = 86_400


class Group(BaseSettings):
    """Settings that are read together, by `gateway.settings.environment.read`.

    The constructor itself reads no variables, so the environment is read in one place.
    """

    model_config = SettingsConfigDict(
        case_sensitive=True, frozen=True, hide_input_in_errors=True, validate_default=False
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def setting(variable: str, default: object, help_: str, *, allowed: str) -> Any:
    """A setting. `allowed` describes its values; `help_` is a phrase in Markdown."""
    return _field(variable, default, help_, allowed)


def secret(variable: str, help_: str, *, allowed: str) -> Any:
    """A setting whose value is not printed, and may be read from the file in `<variable>_FILE`."""
    return _field(variable, None, help_, allowed, is_secret=True)


def switch(variable: str, default: bool, help_: str) -> Any:
    """A setting that is `on` or `off`."""
    return _field(variable, default, help_, "on or off")


def number(
    variable: str, default: int, help_: str, *, unit: str, minimum: int, maximum: int = NUMBER_MAX
) -> Any:
    """A whole number from `minimum` to `maximum`."""
    allowed = f"a whole number, {minimum} to {maximum}"
    return _field(variable, default, help_, allowed, unit=unit, ge=minimum, le=maximum)


def _field(
    variable: str,
    default: object,
    help_: str,
    allowed: str,
    *,
    unit: str = "",
    is_secret: bool = False,
    ge: int | None = None,
    le: int | None = None,
) -> Any:
    return Field(
        default,
        validation_alias=variable,
        description=help_,
        ge=ge,
        le=le,
        json_schema_extra={"allowed": allowed, "unit": unit, "is_secret": is_secret},
    )


def _check_digits(text: str) -> str:
    # pydantic also takes signs, spaces, underscores and "1.0".
    if text.isascii() and text.isdecimal():
        return text
    raise PydanticCustomError("whole_number", "not a whole number")


def parse_switch(text: str) -> bool:
    """Whether a switch is on."""
    if text in ("on", "off"):
        return text == "on"
    raise PydanticCustomError("switch", "neither on nor off")


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (value.strip() for value in text.split(","))))


WholeNumber = Annotated[int, BeforeValidator(_check_digits)]
Switch = Annotated[bool, PlainValidator(parse_switch)]
Names = Annotated[tuple[str, ...], NoDecode, PlainValidator(_split)]
"""Values separated by commas."""


def variable_of(field: FieldInfo) -> str:
    """The name of the environment variable."""
    return str(field.validation_alias)


def is_secret(field: FieldInfo) -> bool:
    """Whether the value must not be printed."""
    return bool(_extra(field)["is_secret"])


def allowed_values(field: FieldInfo) -> str:
    """The allowed values in words."""
    return str(_extra(field)["allowed"])


def revealed(secret: SecretStr | None) -> str | None:
    """The text of a secret, None if it is not set."""
    return None if secret is None else secret.get_secret_value()


def unit_of(field: FieldInfo) -> str:
    """The unit of a number; empty for other types."""
    return str(_extra(field)["unit"])


def _extra(field: FieldInfo) -> Mapping[str, object]:
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return extra
