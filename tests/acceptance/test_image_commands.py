"""Run the commands of the image as processes, with the variables and files of compose.yaml.

No container engine is needed. The tests replace hosts, ports and the folder of the secrets.
"""

import signal
from collections.abc import Mapping

import pytest

from gateway.authentication.identify import DEVELOPMENT_SECRET, mint
from tests.support.image_stack import (
    FOLLOW,
    SEEN_BY_OTHERS,
    SEEN_BY_THE_WRITER,
    SERVICES,
    Stack,
    answers,
    in_database,
    query_data,
    wait_until,
)
from tests.support.ports import free_ports


@pytest.mark.plain("Citus fails when the schema public is dropped")
def test_the_commands_of_the_image_migrate_serve_drain_and_stop(stack: Stack) -> None:
    in_database(stack.database_url, "DROP SCHEMA public CASCADE")
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.output()

    first, second, worker_metrics, *gateway_metrics = free_ports(5)
    gateways = [
        # In containers, each gateway serves its metrics at an address of its own.
        stack.start(name, port, {"KITH_METRICS_ADDRESS": f"127.0.0.1:{metrics}"})
        for name, port, metrics in zip(
            ("gateway-1", "gateway-2"), (first, second), gateway_metrics, strict=True
        )
    ]
    for port in (first, second):
        wait_until(answers(f"http://127.0.0.1:{port}/readyz", '"ready"'), gateways)

    secret = (stack.secrets / "jwt_secret").read_text(encoding="utf-8")
    follower, other = mint(secret, 1), mint(secret, 3)
    followed = query_data(first, FOLLOW, follower)["followUser"]
    assert followed == {"outcome": "FOLLOWED", "userErrors": []}
    seen = query_data(second, SEEN_BY_THE_WRITER, follower)["viewer"]["user"]["relationWith"]
    assert seen == [{"state": "FOLLOWING"}]
    assert in_database(stack.database_url, "SELECT count(*) FROM outbox") == 1

    worker = stack.start("worker", worker_metrics)
    processes = [*gateways, worker]
    wait_until(answers(f"http://127.0.0.1:{worker_metrics}/metrics", "python_info"), processes)
    is_drained = "SELECT count(*) = 0 FROM outbox"
    wait_until(lambda: in_database(stack.database_url, is_drained) is True, processes)
    expected = {"followerCount": 1, "followers": {"nodes": [{"id": "1"}]}}
    wait_until(lambda: query_data(second, SEEN_BY_OTHERS, other)["user"] == expected, processes)

    for started in processes:
        started.process.send_signal(signal.SIGTERM)
    for started in processes:
        grace_s = float(SERVICES[started.service]["stop_grace_period"].removesuffix("s"))
        assert started.code(grace_s) == 0, f"{started.service}:\n{started.output()}"
        assert "Traceback" not in started.output(), started.output()


def test_migrating_again_changes_nothing(stack: Stack) -> None:
    migrate = stack.start("migrate")
    assert migrate.code() == 0, migrate.output()
    assert "up to date" in migrate.output()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"KITH_JWT_SECRET_FILE": None}, "KITH_JWKS_URL must be set"),
        ({"KITH_JWT_SECRET_FILE": "/nowhere"}, "which cannot be read"),
        (
            {"KITH_JWT_SECRET_FILE": None, "KITH_JWT_SECRET": DEVELOPMENT_SECRET},
            "the development secret, which everyone knows",
        ),
    ],
    ids=["without a key", "without the key's file", "with the development secret"],
)
def test_a_gateway_does_not_start_without_a_usable_key(
    stack: Stack, changes: Mapping[str, str | None], message: str
) -> None:
    gateway = stack.start("gateway-1", free_ports(1)[0], changes)
    assert gateway.code() == 2, gateway.output()
    assert message in gateway.output()
    assert "Traceback" not in gateway.output()
