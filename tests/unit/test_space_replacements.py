"""How often requests may make a process close one space to open another."""

import pytest

from gateway.http.rejection import HttpRejection
from gateway.spaces.replacements import OF_ADDRESS, OF_PROCESS, Replacements


class Clock:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def allowed(replacements: Replacements, *addresses: str) -> list[bool]:
    return [_is_allowed(replacements, address) for address in addresses]


def _is_allowed(replacements: Replacements, address: str) -> bool:
    try:
        replacements.take(address)
    except HttpRejection as rejection:
        return not (rejection.status == 503 and int(rejection.headers["retry-after"]) >= 1)
    return True


def test_one_address_may_cause_a_burst_and_then_one_replacement_per_interval() -> None:
    clock = Clock()
    replacements = Replacements(clock)
    burst = OF_ADDRESS.burst
    assert allowed(replacements, *["a"] * (burst + 3)) == [True] * burst + [False] * 3
    clock.now_s += OF_ADDRESS.interval_us / 1_000_000
    assert allowed(replacements, "a", "a") == [True, False]


def test_other_addresses_may_use_the_rest_of_the_limit_of_the_process() -> None:
    clock = Clock()
    replacements = Replacements(clock)
    used_by_first = allowed(replacements, *["a"] * 2 * OF_ADDRESS.burst).count(True)
    others = [str(number) for number in range(OF_PROCESS.burst)]
    assert allowed(replacements, *others).count(True) == OF_PROCESS.burst - used_by_first > 0
    clock.now_s += OF_PROCESS.interval_us / 1_000_000
    assert allowed(replacements, "new", "newer") == [True, False]


@pytest.mark.parametrize("count", [1, 5])
def test_a_rejected_replacement_does_not_count(count: int) -> None:
    clock = Clock()
    replacements = Replacements(clock)
    allowed(replacements, *["a"] * (OF_ADDRESS.burst + 50))
    clock.now_s += count * OF_ADDRESS.interval_us / 1_000_000
    assert allowed(replacements, *["a"] * (count + 1)) == [True] * count + [False]
