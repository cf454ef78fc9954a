"""The files for Citus, Kubernetes and systemd: rights, secrets, settings, and commands that exist.

`make deployment-test` also checks them with the programs that read them.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gateway.commands.cli import app
from tests.support.image_stack import COMPOSE, DOCKER, ROOT, instruction

CITUS: dict[str, Any] = yaml.safe_load((DOCKER / "compose.citus.yaml").read_text("utf-8"))
SERVERS = [name for name, service in CITUS["services"].items() if "image" in service]
KUBERNETES = ROOT / "deploy" / "kubernetes"
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
SETTINGS = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs" / "settings.md").read_text("utf-8"), re.M))
OF_OTHERS = {"PGPASSFILE", "PGDATA"}
ROLE = ("gateway", "worker", "migrate")


def objects(kind: str) -> Iterator[dict[str, Any]]:
    for file in sorted(KUBERNETES.glob("*.yaml")):
        for one in yaml.safe_load_all(file.read_text("utf-8")):
            if one["kind"] == kind:
                yield one


PODS = {
    one["metadata"]["name"]: one["spec"]["template"]["spec"]
    for kind in ("Deployment", "Job")
    for one in objects(kind)
}


def is_command(arguments: list[str]) -> bool:
    """Whether `kith` has this command with these options."""
    result = CliRunner().invoke(app, [arguments[0], "--help"], env={"COLUMNS": "200"})
    options = [part for part in arguments[1:] if part.startswith("--")]
    return result.exit_code == 0 and all(option in result.output for option in options)


@pytest.mark.parametrize("name", SERVERS)
def test_a_container_of_citus_or_the_cluster_can_do_no_more_than_it_must(name: str) -> None:
    service = CITUS["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["networks"] == ["inner"]
    assert "ports" not in service
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
    assert int(service["user"].split(":")[0]) > 0


def test_the_files_of_compose_exist_and_name_each_other() -> None:
    services = {**COMPOSE["services"], **CITUS["services"]}
    for name, service in CITUS["services"].items():
        assert set(service.get("depends_on", {})) <= services.keys(), name
        assert set(service.get("secrets", ())) <= {*COMPOSE["secrets"], *CITUS["secrets"]}, name
        sources = {config["source"] for config in service.get("configs", ())}
        assert sources <= {*COMPOSE["configs"], *CITUS["configs"]}, name
        assert set(service.get("environment", {})) <= SETTINGS | OF_OTHERS | {
            variable for variable in service.get("environment", {}) if "POSTGRES_" in variable
        }
    for config in CITUS["configs"].values():
        assert (DOCKER / config["file"]).exists()
    assert is_command(CITUS["services"]["migrate"]["command"])


def test_the_nodes_that_become_one_are_the_servers() -> None:
    named = set(re.findall(r"'([\w-]+)'", (DOCKER / "citus-nodes.sql").read_text("utf-8")))
    assert named == {name for name in SERVERS if name.startswith("citus-")} - {"citus-nodes"} | {
        "postgres"
    }
    creating = CITUS["services"]["cache-cluster"]["command"][-1]
    created = set(re.findall(r"(cache-\d):6379", creating))
    assert created == {name for name in SERVERS if re.fullmatch(r"cache-\d", name)}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_can_do_no_more_than_it_must(name: str) -> None:
    pod = PODS[name]
    assert pod["automountServiceAccountToken"] is False
    user = instruction("USER").split(":")[0].strip()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert str(pod["securityContext"]["runAsUser"]) == user
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]
    assert is_command(container["args"])


def test_kubernetes_passes_settings_that_exist() -> None:
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))
    (config,) = kustomization["configMapGenerator"]
    names = {literal.partition("=")[0] for literal in config["literals"]}
    for pod in PODS.values():
        names |= {one["name"] for one in pod["containers"][0].get("env", ())}
    assert {name.removesuffix("_FILE") for name in names} - SETTINGS <= {"KITH_DATABASE_PASSWORD"}
    files = {file.name for file in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files


def test_probes_are_those_that_restart_no_process_for_a_server_that_is_down() -> None:
    (gateway,) = PODS["gateway"]["containers"]
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert gateway["args"][gateway["args"].index("--port") + 1] == str(
        next(port["containerPort"] for port in gateway["ports"] if port["name"] == "http")
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_with_settings_and_secrets_that_exist(unit: Path) -> None:
    text = unit.read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=/opt/kith/bin/kith (.+)$", text, re.M)
    assert is_command(shlex.split(command))
    variables = dict(re.findall(r"^Environment=(\w+)=(.+)$", text, re.M))
    assert {name.removesuffix("_FILE") for name in variables} - SETTINGS <= {
        "KITH_DATABASE_PASSWORD"
    }
    credentials = set(re.findall(r"^LoadCredential=(\w+):", text, re.M))
    read = {value.removeprefix("%d/") for value in variables.values() if value.startswith("%d/")}
    assert read == credentials
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="):
        assert line in text.splitlines()


def test_the_roles_are_complete() -> None:
    assert set(PODS) == set(ROLE)
    assert {unit.stem.removeprefix("kith-") for unit in UNITS} == set(ROLE)
