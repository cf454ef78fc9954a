"""`viewer.limits`: what the viewer has used and has left of the limits of changes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from graph.pace import Pace
from resolvers.policy import Policy
from storage.settings import StorageSettings
from tests.support.gateway import Gateway, running_gateway

LIMITS = """{ viewer { limits {
  following { limit used remaining } blocks { limit used remaining }
  changes { limit remaining resetAt } } } }"""
HOUR_US = 3_600_000_000


async def limits(gateway: Gateway, viewer: int) -> Any:
    return (await gateway.data(LIMITS, viewer))["viewer"]["limits"]


async def change(gateway: Gateway, mutation: str, target: int) -> Any:
    query = f'mutation {{ {mutation}(input: {{userId: "{target}"}}) {{ outcome }} }}'
    return (await gateway.data(query, 1))[mutation]["outcome"]


async def test_changes_reduce_the_remaining_limits_and_are_rejected_at_zero(
    storage_settings: StorageSettings,
) -> None:
    policy = Policy(following_max=2, blocks_max=1, pace=Pace(HOUR_US, 4))
    async with running_gateway(storage_settings, policy) as gateway:
        assert await limits(gateway, 1) == {
            "following": {"limit": 2, "used": 0, "remaining": 2},
            "blocks": {"limit": 1, "used": 0, "remaining": 1},
            "changes": {"limit": 4, "remaining": 4, "resetAt": None},
        }
        assert await change(gateway, "followUser", 2) == "FOLLOWED"
        assert await change(gateway, "followUser", 2) == "ALREADY_FOLLOWING"
        assert await change(gateway, "followUser", 3) == "FOLLOWED"
        assert await change(gateway, "blockUser", 4) == "BLOCKED"
        found = await limits(gateway, 1)
        assert found["following"] == {"limit": 2, "used": 2, "remaining": 0}
        assert found["blocks"] == {"limit": 1, "used": 1, "remaining": 0}
        assert (found["changes"]["limit"], found["changes"]["remaining"]) == (4, 1)
        until_reset = datetime.fromisoformat(found["changes"]["resetAt"]) - datetime.now(UTC)
        assert timedelta(hours=2, minutes=50) < until_reset < timedelta(hours=3, minutes=10)
        assert await change(gateway, "muteUser", 5) == "MUTED"
        assert (await limits(gateway, 1))["changes"]["remaining"] == 0
        assert await change(gateway, "muteUser", 6) == "REJECTED"


async def test_remaining_is_zero_and_not_negative_after_the_limit_is_lowered_below_used(
    gateway: Gateway,
) -> None:
    for target in (2, 3):
        await change(gateway, "followUser", target)
    query = """mutation { setFollowingLimit(input: {userId: "1", limit: 1}) { outcome } }"""
    await gateway.as_service.data(query)
    assert (await limits(gateway, 1))["following"] == {"limit": 1, "used": 2, "remaining": 0}
