"""The operations of docs/subscriptions.md are valid, and its table of close codes is the truth."""

import re
from pathlib import Path

from engine import Engine
from gateway.connections import EXPIRED, GOING_AWAY, INTERNAL, SLOW
from gateway.graphql_ws import FULL, INVALID, NOT_ACCEPTABLE
from schema.schema import schema

PAGE = (Path(__file__).parents[2] / "docs" / "subscriptions.md").read_text(encoding="utf-8")


def test_every_operation_of_the_page_is_valid() -> None:
    operations = re.findall(r"```graphql\n(.*?)```", PAGE, re.DOTALL)
    assert operations
    for operation in operations:
        Engine(schema).prepare(operation)


def test_every_code_that_a_socket_closes_with_is_explained() -> None:
    explained = {int(code) for code in re.findall(r"^\| (\d{4})", PAGE, re.MULTILINE)}
    own = {EXPIRED, FULL, GOING_AWAY, INTERNAL, INVALID, NOT_ACCEPTABLE, SLOW}
    assert {ending.code for ending in own} <= explained
