"""Check values against the part of JSON Schema that the schemas of Kith use."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_KNOWN = frozenset(
    {
        *("$schema", "$defs", "$ref", "title", "description", "format"),
        *("type", "const", "enum", "anyOf", "pattern", "minimum"),
        *("properties", "required", "additionalProperties", "items"),
    }
)


def violations(value: Any, schema: Mapping[str, Any], path: str = "$") -> list[str]:
    """Where a value differs from a schema, and how."""
    return list(_violations(value, schema, schema, path))


def _violations(value: Any, schema: Any, root: Any, path: str) -> Iterator[str]:
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "$ref" in schema:
        yield from _violations(
            value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path
        )
    if "anyOf" in schema and all(
        any(_violations(value, option, root, path)) for option in schema["anyOf"]
    ):
        yield f"{path}: {value!r} matches no option"
    if "type" in schema and not _is_type(value, schema["type"]):
        yield f"{path}: {value!r} is no {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: {value!r} is less than {schema['minimum']}"
    if isinstance(value, dict):
        yield from _object_violations(value, schema, root, path)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _violations(item, schema["items"], root, f"{path}[{index}]")


def _object_violations(value: dict[str, Any], schema: Any, root: Any, path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}: {name} is missing"
    for name, member in value.items():
        if name in properties:
            yield from _violations(member, properties[name], root, f"{path}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{path}: {name} is unknown"


def _is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])
