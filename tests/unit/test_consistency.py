"""Consistency tokens: what they contain, and which ones are rejected."""

from base64 import urlsafe_b64encode
from binascii import crc32
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.consistency import (
    AT_MAX,
    LENGTH,
    VERSION,
    Moment,
    by_lane_group,
    merge_moments,
    moment_of,
    read_tokens,
    write_token,
)
from graph.edge import MAX_USER_ID, Pair, UserId
from graph.errors import BadToken
from graph.lane import LANES, Lane, lane_of

lanes = st.frozensets(st.integers(0, LANES - 1).map(Lane))
moments = st.builds(Moment, lanes, st.integers(1, AT_MAX), st.booleans())
user_ids = st.integers(1, MAX_USER_ID).map(UserId)

MOMENT = Moment(frozenset({Lane(1), Lane(7)}), 1_700_000_000_123_456)


def forged(version: int, lanes: int, at: int, of_lanes: int = LANES) -> str:
    """A token with these contents and a valid checksum."""
    body = pack(">BHQ", version, lanes, at)
    return urlsafe_b64encode(body + crc32(body, of_lanes).to_bytes(4, "big")).decode()


@given(moment=moments)
def test_a_token_returns_its_moment(moment: Moment) -> None:
    token = write_token(moment)
    assert read_tokens("atLeastAsFresh", [token]) == [moment]
    assert len(token) == LENGTH
    assert token.replace("-", "").replace("_", "").isalnum(), "it needs no quoting in a header"


@given(several=st.lists(moments, min_size=1, max_size=50))
def test_the_merged_moment_includes_all_moments(several: list[Moment]) -> None:
    one = merge_moments(several)
    assert one is not None
    assert all(
        moment.lane_groups <= one.lane_groups and by_lane_group([one])[lane] >= at
        for moment in several
        for lane, at in by_lane_group([moment]).items()
    )
    assert one.may_be_stale_in_cache is any(moment.may_be_stale_in_cache for moment in several)
    assert len(write_token(one)) == LENGTH
    assert merge_moments([]) is None


@given(one=user_ids, other=user_ids)
def test_a_moment_has_the_lanes_of_both_users_of_a_pair(one: UserId, other: UserId) -> None:
    assert moment_of(Pair(one, other), 5) == moment_of(Pair(other, one), 5)
    assert moment_of(Pair(one, other), 5).lane_groups == {lane_of(one), lane_of(other)}


def test_for_each_lane_the_latest_of_its_moments_counts() -> None:
    early, late = Moment(frozenset({Lane(0), Lane(1)}), 5), Moment(frozenset({Lane(1)}), 9)
    assert by_lane_group([late, early]) == {Lane(0): 5, Lane(1): 9}


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "not-a-token-at-all--",
        "é" * LENGTH,
        "\ud800" * LENGTH,
        write_token(MOMENT)[:-1],
        write_token(MOMENT) + "A",
        write_token(MOMENT) * 1000,
        " " + write_token(MOMENT)[1:],
        "+" + write_token(MOMENT)[1:],
        forged(VERSION + 1, 2, 5),
        forged(VERSION, 1 << LANES, 5),
        forged(VERSION, 2, 0),
        forged(VERSION, 2, AT_MAX + 1),
        forged(VERSION, 2, 5, of_lanes=LANES * 8),
    ],
)
def test_the_error_for_an_invalid_token_names_the_argument(token: str) -> None:
    with pytest.raises(
        BadToken, match="`atLeastAsFresh` is not a valid consistency token"
    ) as rejected:
        read_tokens("atLeastAsFresh", [write_token(MOMENT), token])
    assert rejected.value.argument == "atLeastAsFresh"
    assert len(str(rejected.value)) < 200


@given(index=st.integers(0, LENGTH - 1), character=st.sampled_from("ABab019-_"))
def test_a_token_with_a_changed_character_is_rejected(index: int, character: str) -> None:
    token = write_token(MOMENT)
    changed = token[:index] + character + token[index + 1 :]
    if changed == token:
        return
    with pytest.raises(BadToken):
        read_tokens("X-Consistency-Token", [changed])
