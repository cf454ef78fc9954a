"""The expected content of a client's normalised cache after each step of `scenario.mjs`."""

from typing import Any

from tests.acceptance.clients.running import given
from tests.support.live_gateway import LiveGateway

VIEWER, OTHER, THIRD = "1", "7", "8"


def scenario(live: LiveGateway, **more: Any) -> str:
    """The input of the scripts that run the scenario, as JSON."""
    users = {"viewer": VIEWER, "other": OTHER, "third": THIRD}
    return given(live, map(int, users.values()), **users, **more)


def _step(
    name: str, state: str, followers: int, following: int, *, protected: bool = False
) -> dict[str, Any]:
    """`state` is that of the viewer's relation to the other user, `followers` the other user's
    count, and `following` the viewer's."""
    return {
        "step": name,
        "state": state,
        "followers": followers,
        "following": following,
        "protected": protected,
    }


STEPS = [
    _step("loaded", "NONE", 0, 0),
    _step("followed", "FOLLOWING", 1, 1),
    _step("protected", "FOLLOWING", 1, 1, protected=True),
    _step("relationChanged", "FRIENDS", 1, 1),
    _step("countsChanged", "FRIENDS", 2, 1),
]
