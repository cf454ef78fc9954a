"""The alert rules, their tests, the dashboard and the runbook agree with each other and with the
metrics."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from storage.settings import StorageSettings
from tests.acceptance.test_metrics import kith_metrics

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
RULES = DOCKER / "prometheus" / "alerts.yaml"
TESTS = DOCKER / "prometheus" / "alerts_test.yaml"
DASHBOARDS = DOCKER / "grafana" / "dashboards"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")

_METRIC_NAME = re.compile(r"\bkith_[a-z0-9_]+\b")
_RUNBOOK_SECTION = re.compile(r"^### (Kith\w+)$", re.MULTILINE)


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def expressions() -> Iterator[str]:
    """The PromQL expressions of all alerts and dashboards."""
    for alert in alerts():
        yield alert["expr"]
    for file in DASHBOARDS.glob("*.json"):
        for panel in json.loads(file.read_text(encoding="utf-8"))["panels"]:
            yield from (target["expr"] for target in panel.get("targets", ()))


async def test_rules_and_dashboards_use_metrics_that_exist(
    storage_settings: StorageSettings,
) -> None:
    samples = {"kith_process_up"}
    for name, family in (await kith_metrics(storage_settings)).items():
        if family.type == "counter":
            samples.add(f"{name}_total")
        elif family.type == "histogram":
            samples |= {f"{name}_{suffix}" for suffix in ("bucket", "count", "sum")}
        else:
            samples.add(name)
    used = {metric for expression in expressions() for metric in _METRIC_NAME.findall(expression)}
    assert len(used) > 25
    assert sorted(used - samples) == []


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_has_a_section_in_the_runbook(alert: dict[str, Any]) -> None:
    name = alert["alert"]
    assert alert["annotations"]["runbook_url"] == f"docs/runbook.md#{name.lower()}"
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["labels"]["severity"] in ("page", "ticket")
    _, _, after = RUNBOOK.partition(f"### {name}\n")
    section = re.split(r"^##", after, maxsplit=1, flags=re.MULTILINE)[0]
    for part in ("Meaning", "Look at", "Do"):
        assert f"* **{part}**: " in section


def test_the_sections_of_the_runbook_are_the_alerts_in_their_order() -> None:
    assert _RUNBOOK_SECTION.findall(RUNBOOK) == [alert["alert"] for alert in alerts()]


def test_each_alert_has_a_test() -> None:
    tests = yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
    tested = {test["name"] for test in tests}
    assert tested - {"a healthy system"} == {alert["alert"] for alert in alerts()}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="`make alerts-test` installs promtool")
def test_the_tests_of_the_alerts_pass() -> None:
    for command in ("check", "test"):
        file = RULES if command == "check" else TESTS
        subprocess.run(["promtool", command, "rules", file.name], cwd=file.parent, check=True)


def test_prometheus_scrapes_the_services_of_compose() -> None:
    config = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yaml").read_text(encoding="utf-8"))
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    scraped = {
        target.partition(":")[0]
        for job in config["scrape_configs"]
        for targets in job["static_configs"]
        for target in targets["targets"]
    }
    assert scraped == {name for name in services if name.startswith(("gateway", "worker"))}
    jobs_scraped = {job["job_name"] for job in config["scrape_configs"]}
    jobs_in_rules = set(re.findall(r'job="([\w-]+)"', RULES.read_text(encoding="utf-8")))
    assert jobs_in_rules == jobs_scraped


def test_the_monitoring_containers_have_minimal_privileges() -> None:
    services = yaml.safe_load((DOCKER / "monitoring.yaml").read_text(encoding="utf-8"))["services"]
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
        assert int(service["user"].split(":")[0]) > 0
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert not source.startswith("./") or (DOCKER / source).exists()
