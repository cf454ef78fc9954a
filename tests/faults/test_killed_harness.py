"""If the process that runs fault scenarios is killed, the processes of its stack end."""

import asyncio
import signal
import sys

from devstack.processes import identity_of
from tests.support.faults.programs import ROOT
from tests.support.waiting import until

HARNESS = """
import asyncio
from tests.support.faults.stack import Sizes, running_stack

async def main():
    async with running_stack(Sizes(1, 1), proxied=False) as stack:
        stack.workers[0].kill()
        await asyncio.sleep(1)
        await stack.heal()
        print(*(part.pid for part in stack.parts), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_the_parts_end_when_the_harness_is_killed() -> None:
    harness = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HARNESS), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert harness.stdout is not None
    line = await harness.stdout.readline()
    parts = [identity_of(int(pid)) for pid in line.split()]
    assert len(parts) == 4
    assert all(parts)
    harness.send_signal(signal.SIGKILL)
    await harness.wait()

    async def ended() -> bool:
        return not any(part == identity_of(part.pid) for part in parts if part is not None)

    await until(ended, "all parts have ended")
