"""Reads settings from environment variables. No other module reads the environment.

A wrong value and an unknown name stop the start with one sentence.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from gateway.settings.declarations.groups import GROUPS
from gateway.settings.fields import Group, allowed_values, is_secret, variable_of

PREFIX = "KITH_"

OPTIONS = {"KITH_PORT": "--port", "KITH_SPACE": "--space", "KITH_STATE": "--state"}
"""Names that look like settings, and the options to use instead."""

NOT_SETTINGS = frozenset({"KITH_PYTHON", "KITH_REVISION", "KITH_TOKEN", "KITH_URL", "KITH_VERSION"})
"""Variables that `read` allows: docker/compose.yaml and the examples use them, perhaps in the same
shell."""

_KUBERNETES = re.compile(
    r"\w+_SERVICE_(HOST|PORT(_\w+)?)=.*|\w+_PORT_\d+_(TCP|UDP|SCTP)(_\w+)?=.*|\w+_PORT=\w+://.*"
)
"""Variables that Kubernetes sets in every container for a Service whose name begins with `kith`."""

G = TypeVar("G", bound=Group)
Environ = Mapping[str, str] | None
"""Environment variables. None: those of this process."""


class ConfigurationError(ValueError):
    """A setting is wrong, unknown or missing. The text names it and says what is allowed."""


def read(group: type[G], environ: Environ = None) -> G:
    """The settings of a group from `environ`, or from the environment of this process.

    Raises:
        ConfigurationError: a value is wrong, or a variable is unknown.
    """
    variables = os.environ if environ is None else environ
    _check_names(variables)
    source = EnvSettingsSource(group)
    source.env_vars = values = dict(_values(group, variables))
    try:
        return group(**source())
    except ValidationError as error:
        raise ConfigurationError(_sentence(group, error, values)) from None


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment for a child process, with `changes`."""
    return {**os.environ, **changes}


def _values(group: type[Group], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names and values of a group's variables that are set, those of secrets perhaps in a file.
    An empty variable counts as not set. Raises ConfigurationError for a file that cannot be read.
    """
    for field in group.model_fields.values():
        name = variable_of(field)
        file = f"{name}_FILE"
        if environ.get(name):
            yield name, environ[name]
        elif is_secret(field) and environ.get(file):
            yield name, _content(file, Path(environ[file]))


def _content(variable: str, file: Path) -> str:
    """The content of a mounted secret."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    raise ConfigurationError(f"{variable} is {file}, which cannot be read: {reason}.")


def _sentence(group: type[Group], error: ValidationError, values: Mapping[str, str]) -> str:
    """The first error in plain words. A secret's value is not shown."""
    first = error.errors(include_url=False, include_input=False)[0]
    cause = first.get("ctx", {}).get("error")
    if not first["loc"]:  # about several variables
        return f"{cause}."
    name = str(first["loc"][0])
    if isinstance(cause, ValueError):
        return f"{name} {cause}."
    field = next(field for field in group.model_fields.values() if variable_of(field) == name)
    got = "wrong" if is_secret(field) else repr(values[name])
    return f"{name} is {got}; it must be {allowed_values(field)}."


def _check_names(environ: Mapping[str, str]) -> None:
    known = set(variable_names())
    for name in sorted(environ.keys() - known - NOT_SETTINGS):
        if name.startswith(PREFIX) and not _KUBERNETES.fullmatch(f"{name}={environ[name]}"):
            raise ConfigurationError(f"{name} is not a setting. {_advice(name, known)}")


def variable_names() -> Iterator[str]:
    """The names of all variables, with those that name the file of a secret."""
    for group in GROUPS:
        for field in group.model_fields.values():
            yield variable_of(field)
            if is_secret(field):
                yield f"{variable_of(field)}_FILE"


def _advice(name: str, known: Iterable[str]) -> str:
    if name in OPTIONS:
        return f"Use the option {OPTIONS[name]}."
    nearest = get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {nearest[0]}?" if nearest else "docs/settings.md lists all settings."
