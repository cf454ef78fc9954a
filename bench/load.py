"""Runs wrk against one server, and measures the CPU time of the server."""

import asyncio
import shutil
from asyncio.subprocess import PIPE, STDOUT
from dataclasses import dataclass
from pathlib import Path

from bench.answers import WrongAnswer
from bench.cores import pinned_argv
from bench.processes import Meter, ServerProcess
from bench.services import Services

SCRIPT = Path(__file__).with_name("wrk.lua")
IDLE_S = 0.05


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of the load generator against one server."""

    requests: int
    seconds: float
    cpu_s: float
    p50_us: int
    p99_us: int
    postgres_cpu_s: float
    valkey_cpu_s: float

    @property
    def per_s(self) -> float:
        return self.requests / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU microseconds of the server process per request, the figure with the least noise."""
        return self.cpu_s / self.requests * 1e6


def must_have_wrk() -> None:
    """Raise ValueError if the load generator is missing."""
    if shutil.which("wrk") is None:
        raise ValueError(
            "The benchmark needs wrk: `apt-get install wrk`, or your system's package."
        )


async def loaded(
    services: Services,
    server: ServerProcess,
    file: Path,
    seconds: int,
    first: int,
    connections: int,
) -> Sample:
    """Send the requests in `file` for this many seconds, beginning after the `first` ones, and
    again from the beginning when the file ends.

    Raises WrongAnswer if a request failed.
    """
    wrk = ("wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s")
    argv = (*wrk, "-s", str(SCRIPT), server.url, "--", str(file), str(first))
    meters: tuple[Meter, ...] = (server, services.postgres, services.valkey)
    before = [meter.cpu_s() for meter in meters]
    process = await asyncio.create_subprocess_exec(
        *pinned_argv(argv, services.cores.load), stdout=PIPE, stderr=STDOUT
    )
    output = (await process.communicate())[0].decode()
    cpu_s, postgres_s, valkey_s = (
        meter.cpu_s() - used for meter, used in zip(meters, before, strict=True)
    )
    await _idle(server)  # unfinished work would be counted for the next server on its core
    numbers = next((line for line in output.splitlines() if line.startswith("RESULT ")), "")
    if not numbers:
        raise WrongAnswer(f"wrk against {server.name} printed no usable result:\n{output}")
    requests, microseconds, p50, p99, errors = map(int, numbers.split()[1:])
    if errors or not requests:
        raise WrongAnswer(f"{server.name}: {errors} of {requests} requests failed")
    return Sample(requests, microseconds / 1e6, cpu_s, p50, p99, postgres_s, valkey_s)


async def _idle(server: ServerProcess) -> None:
    """Wait until the process is idle."""
    used = -1.0
    while used != (now := server.cpu_s()):
        used = now
        await asyncio.sleep(IDLE_S)
