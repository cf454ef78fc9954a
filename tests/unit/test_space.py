"""Tokens and log entries are bound to their space."""

import json
import logging

import pytest

from gateway.commands.logs import JsonFormatter
from graph.consistency import Moment, read_tokens, write_token
from graph.cursor import read_cursor, write_cursor
from graph.edge import Millis, UserId
from graph.errors import BadInput
from graph.lane import Lane
from graph.lists import ListKind, ListOf
from graph.page import Position
from graph.receipt import keyed_id, read_undo_token, undo_token
from graph.space import running_in

PLACE = Position(Millis(7), UserId(8))
LIST = ListOf(ListKind.FOLLOWERS, UserId(9))
MOMENT = Moment(frozenset({Lane(1)}), 7)
RECEIPT = keyed_id("k")
SPACES = ("public", "shop", "biz")


@pytest.mark.parametrize("space", SPACES)
def test_tokens_are_valid_in_their_space_only(space: str) -> None:
    with running_in(space):
        cursor, token, undo = write_cursor(PLACE, LIST), write_token(MOMENT), undo_token(RECEIPT)
        assert read_cursor("after", cursor, LIST) == PLACE
        assert read_tokens("token", [token]) == [MOMENT]
        assert read_undo_token(undo) == RECEIPT
    for other in set(SPACES) - {space}:
        with running_in(other):
            with pytest.raises(BadInput):
                read_cursor("after", cursor, LIST)
            with pytest.raises(BadInput):
                read_tokens("token", [token])
            assert read_undo_token(undo) != RECEIPT


def test_log_entries_name_the_space_unless_it_is_the_default_one() -> None:
    record = logging.makeLogRecord({"msg": "hello"})
    with running_in("shop"):
        assert json.loads(JsonFormatter().format(record))["space"] == "shop"
    assert "space" not in json.loads(JsonFormatter().format(record))
