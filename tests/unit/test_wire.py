"""Preformatted Redis commands."""

import hiredis
import pytest

from storage.redis.wire import Preformatted


@pytest.mark.parametrize("keys", [0, 1, 500])
def test_preformatted_commands_are_encoded_like_those_of_hiredis(keys: int) -> None:
    command = ("HMGET", "kith:space:rel:1:{5}", *(str(7**n % 2**63) for n in range(keys)), "*")
    assert Preformatted(command).packed() == hiredis.pack_command(command)  # type: ignore[arg-type]
