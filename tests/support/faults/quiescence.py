"""The checks after a scenario: all changes are applied, and tables and lists equal the model."""

import contextlib
import io
from functools import partial
from itertools import product

from gateway.commands import verify
from gateway.settings.config import Config
from resolvers.policy import Policy
from tests.support.faults.histories import UserPair
from tests.support.faults.stack import Stack
from tests.support.faults.traffic import Traffic
from tests.support.gateway import DEVELOPMENT
from tests.support.waiting import until

STORED = "SELECT from_user_id, to_user_id FROM following WHERE kind = 1"
WAITING = "SELECT count(*) FROM outbox"


async def drain_and_compare(stack: Stack, traffic: Traffic) -> None:
    """Wait until all changes are applied, and compare the tables with the model. Differences are
    recorded as violations. Then the model has the state of the tables.

    No requests are sent meanwhile. A write with an unknown outcome may still run in a gateway that
    was paused, so its follow is not compared before the next call.
    """
    async with stack.session() as session:

        async def is_drained() -> bool:
            return bool(await session.fetchval(WAITING) == 0)

        await until(is_drained, "the outbox is empty")
        stored = {UserPair(*row) for row in await session.fetch(STORED)}
    for pair, history in traffic.world.histories.items():
        if pair not in traffic.unresolved and history.last.present != (pair in stored):
            traffic.tally.violation(f"{pair} is stored as {pair in stored}: {history}")
    traffic.release()
    for pair, history in traffic.world.histories.items():
        history.reset(present=pair in stored, is_certain=pair not in traffic.unresolved)


async def read_everything(traffic: Traffic) -> None:
    """Read all lists from every gateway, as their owner and without a viewer, and check them."""
    for client in traffic.clients:
        for owner, is_own in product(traffic.world.users, (True, False)):
            viewer = owner if is_own else None
            await until(partial(traffic.read, viewer, owner, client), "all lists are answered")


async def verify_is_clean(stack: Stack, traffic: Traffic) -> None:
    """Record a violation if `kith verify` finds drift in tables or caches."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = await verify.run(
            Config(stack.settings, DEVELOPMENT, Policy()), repair=False, examples=5
        )
    if code != 0:
        traffic.tally.violation(f"verify: {output.getvalue()}")
