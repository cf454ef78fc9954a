"""Write the table of rejections in docs/errors.md from `schema.user_errors`.

`make rejections` updates the page; a test compares the two.
"""

import re
from pathlib import Path

from graphql import GraphQLEnumType, GraphQLField, GraphQLObjectType, get_named_type

from schema.schema import schema
from schema.user_errors import USER_ERRORS, Rejection

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
HEAD = "| code and type | meaning | message | additional fields |\n| --- | --- | --- | --- |\n"
_TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")
_COMMON = {"code", "message", "field"}


def updated(page: str) -> str:
    """The text of the page with the table of the current rejections."""
    assert _TABLE.search(page), "docs/errors.md has no table of rejections"
    return _TABLE.sub(lambda _: HEAD + "".join(map(_row, USER_ERRORS)), page)


def _row(of: Rejection) -> str:
    name = of.type.__name__
    kind = schema._schema.type_map[name]
    assert isinstance(kind, GraphQLObjectType)
    fields = [_field(name, f) for name, f in kind.fields.items() if name not in _COMMON]
    messages = "<br>".join(map(_message, of.messages.values()))
    return f"| `{of.code}`<br>`{name}` | {of.description} | {messages} | {', '.join(fields)} |\n"


def _message(text: str) -> str:
    """The message, with the name of each attribute that it contains."""
    if text == "{result.invalid}":
        return "depends on the field"
    return re.sub(r"\{result\.(?:\w+\.)*(\w+)\}", r"`\1`", text)


def _field(name: str, of: GraphQLField) -> str:
    kind = get_named_type(of.type)
    if isinstance(kind, GraphQLEnumType):
        return f"`{name}`: {', '.join(f'`{value}`' for value in kind.values)}"
    return f"`{name}`"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
