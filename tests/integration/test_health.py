"""`/healthz` checks nothing. `/readyz` checks each part with a deadline, and names those down."""

import asyncio
from collections.abc import Mapping

import httpx
import pytest
from starlette.applications import Starlette

from gateway.http.health import Health, Probe


async def up() -> None:
    return None


async def down() -> None:
    raise ConnectionError("postgres://user:hunter2@db")


async def stuck() -> None:
    await asyncio.Event().wait()


async def stubborn() -> None:
    """Swallows its first cancellation, as a driver that cleans up may."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.sleep(0))


async def get(path: str, probes: Mapping[str, Probe]) -> httpx.Response:
    health = Health(probes, frozenset({"postgresql"}), deadline_ms=20)
    transport = httpx.ASGITransport(Starlette(routes=health.routes()))
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        return await client.get(path)


async def test_the_process_is_alive_also_if_its_parts_are_down() -> None:
    response = await get("/healthz", {"postgresql": down, "redis": stuck})
    assert response.status_code == 200
    assert response.json() == {"status": "alive"}


async def test_the_gateway_is_ready_when_every_part_is_up() -> None:
    response = await get("/readyz", {"postgresql": up, "redis": up})
    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "parts": {
            "postgresql": {"status": "up", "required": True},
            "redis": {"status": "up", "required": False},
        },
    }


async def test_the_gateway_is_degraded_but_ready_when_an_optional_part_is_down() -> None:
    response = await get("/readyz", {"postgresql": up, "redis": down})
    assert response.status_code == 200
    assert response.json()["status"] == "degraded"
    redis = response.json()["parts"]["redis"]
    assert redis == {"status": "down", "required": False, "reason": "ConnectionError"}


@pytest.mark.parametrize("probe", [down, stuck, stubborn])
async def test_the_gateway_is_unavailable_when_a_required_part_is_down(probe: Probe) -> None:
    async with asyncio.timeout(5):
        response = await get("/readyz", {"postgresql": probe, "redis": up})
    assert response.status_code == 503
    assert response.json()["status"] == "unavailable"
    assert response.json()["parts"]["postgresql"]["status"] == "down"
    assert "hunter2" not in response.text


async def test_a_probe_that_misses_its_deadline_is_stopped() -> None:
    stopped = asyncio.Event()

    async def watched() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await get("/readyz", {"postgresql": watched})
    async with asyncio.timeout(5):
        await stopped.wait()


async def test_concurrent_requests_share_one_round_of_probes() -> None:
    rounds = 0
    begun, release = asyncio.Event(), asyncio.Event()

    async def count_rounds() -> None:
        nonlocal rounds
        rounds += 1
        begun.set()
        await release.wait()

    health = Health({"postgresql": count_rounds}, frozenset({"postgresql"}), deadline_ms=5_000)
    transport = httpx.ASGITransport(Starlette(routes=health.routes()))
    async with httpx.AsyncClient(transport=transport, base_url="http://kith") as client:
        callers = [asyncio.create_task(client.get("/readyz")) for _ in range(5)]
        async with asyncio.timeout(5):
            await begun.wait()
            callers[0].cancel()
            release.set()
            others = await asyncio.gather(*callers[1:])
    assert rounds == 1
    assert {response.status_code for response in others} == {200}


def test_a_required_part_without_a_probe_raises_value_error() -> None:
    with pytest.raises(ValueError, match="postgresql"):
        Health({}, frozenset({"postgresql"}))
