"""Prints docs/settings.md from the declarations: `python -m gateway.settings.reference`."""

import inspect
from collections.abc import Iterator

from pydantic.fields import FieldInfo

from gateway.settings.declarations.groups import GROUPS
from gateway.settings.fields import (
    NUMBER_MAX,
    Group,
    allowed_values,
    is_secret,
    unit_of,
    variable_of,
)

HEAD = """\
# Settings

The settings of Kith are environment variables, read once at the start. An empty variable counts as
not set. A wrong value and an unknown name that begins with `KITH_` stop the process with an error
that names the variable. `SIGHUP` lets [a gateway of several
processes](operations.md#a-gateway-of-several-processes) read the files again that settings name.
What differs between the commands of one deployment is an option instead: `kith serve --help`.

A variable marked with ¹ may also be read from a file, whose path is in the same name with `_FILE`:
`KITH_JWT_SECRET_FILE=/run/secrets/jwt`.

`make settings` prints this page from the modules of `gateway/settings/declarations/`.
"""


def page() -> str:
    """The text of docs/settings.md."""
    return "\n".join([HEAD, *(line for group in GROUPS for line in _section(group))])


def _section(group: type[Group]) -> Iterator[str]:
    title, _, text = inspect.cleandoc(group.__doc__ or "").partition("\n\n")
    yield f"## {title}\n"
    if text:
        yield f"{text}\n"
    yield "| variable | default | values | unit | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for field in group.model_fields.values():
        yield f"| {' | '.join(_cells(field))} |".replace("|  |", "| |").replace("|  |", "| |")
    yield ""


def _cells(field: FieldInfo) -> tuple[str, ...]:
    mark = " ¹" if is_secret(field) else ""
    return (
        f"`{variable_of(field)}`{mark}",
        _default(field),
        _values(field),
        unit_of(field),
        field.description or "",
    )


def _values(field: FieldInfo) -> str:
    text = allowed_values(field).removeprefix("a whole number, ")
    return text.replace(f"to {NUMBER_MAX}", "or more")


def _default(field: FieldInfo) -> str:
    match field.default:
        case bool(is_on):
            return "on" if is_on else "off"
        case int(value):
            return str(value)
        case str(text):
            return f"`{text}`"
        case frozenset() as words if words:
            return f"`{','.join(sorted(words))}`"
        case _:  # None and empty collections
            return ""


if __name__ == "__main__":
    print(page(), end="")
