"""Both packers encode commands alike."""

import hiredis
import pytest

from storage.redis.wire import Preformatted


@pytest.mark.parametrize("others", [0, 1, 500])
def test_spelled_commands_are_packed_as_hiredis_packs_them(others: int) -> None:
    command = ("HMGET", "kith:space:rel:1:{5}", *(str(7**n % 2**63) for n in range(others)), "*")
    assert Preformatted(command).packed() == hiredis.pack_command(command)  # type: ignore[arg-type]
