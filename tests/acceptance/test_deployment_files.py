"""The files for Citus, Kubernetes and systemd: privileges, secrets, settings and commands.

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
POSTGRESQL_VARIABLES = {"PGPASSFILE", "PGDATA"}
ROLES = ("gateway", "worker", "migrate")


def objects(kind: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects of a kind."""
    for file in sorted(KUBERNETES.glob("*.yaml")):
        for manifest in yaml.safe_load_all(file.read_text("utf-8")):
            if manifest["kind"] == kind:
                yield manifest


PODS = {
    manifest["metadata"]["name"]: manifest["spec"]["template"]["spec"]
    for kind in ("Deployment", "Job")
    for manifest in objects(kind)
}


def is_command(arguments: list[str]) -> bool:
    """Whether `kith` has this command with these options."""
    result = CliRunner().invoke(app, [arguments[0], "--help"], env={"COLUMNS": "200"})
    options = [part for part in arguments[1:] if part.startswith("--")]
    return result.exit_code == 0 and all(option in result.output for option in options)


@pytest.mark.parametrize("name", SERVERS)
def test_a_container_of_citus_or_the_cache_cluster_has_minimal_privileges(name: str) -> None:
    service = CITUS["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["networks"] == ["inner"]
    assert "ports" not in service
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
    assert int(service["user"].split(":")[0]) > 0


def test_the_names_in_the_citus_compose_file_exist() -> None:
    services = {**COMPOSE["services"], **CITUS["services"]}
    for name, service in CITUS["services"].items():
        assert set(service.get("depends_on", {})) <= services.keys(), name
        assert set(service.get("secrets", ())) <= {*COMPOSE["secrets"], *CITUS["secrets"]}, name
        sources = {config["source"] for config in service.get("configs", ())}
        assert sources <= {*COMPOSE["configs"], *CITUS["configs"]}, name
        assert set(service.get("environment", {})) <= SETTINGS | POSTGRESQL_VARIABLES | {
            variable for variable in service.get("environment", {}) if "POSTGRES_" in variable
        }
    for config in CITUS["configs"].values():
        assert (DOCKER / config["file"]).exists()
    assert is_command(CITUS["services"]["migrate"]["command"])


def test_all_citus_nodes_and_cache_servers_join_their_clusters() -> None:
    named = set(re.findall(r"'([\w-]+)'", (DOCKER / "citus-nodes.sql").read_text("utf-8")))
    assert named == {name for name in SERVERS if name.startswith("citus-")} - {"citus-nodes"} | {
        "postgres"
    }
    creating = CITUS["services"]["cache-cluster"]["command"][-1]
    created = set(re.findall(r"(cache-\d):6379", creating))
    assert created == {name for name in SERVERS if re.fullmatch(r"cache-\d", name)}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_minimal_privileges(name: str) -> None:
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


def test_kubernetes_sets_variables_that_exist() -> None:
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))
    (config,) = kustomization["configMapGenerator"]
    names = {literal.partition("=")[0] for literal in config["literals"]}
    for pod in PODS.values():
        names |= {variable["name"] for variable in pod["containers"][0].get("env", ())}
    assert {name.removesuffix("_FILE") for name in names} - SETTINGS <= {"KITH_DATABASE_PASSWORD"}
    files = {file.name for file in KUBERNETES.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files


def test_the_liveness_probe_does_not_depend_on_other_servers() -> None:
    (gateway,) = PODS["gateway"]["containers"]
    assert gateway["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert gateway["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert gateway["args"][gateway["args"].index("--port") + 1] == str(
        next(port["containerPort"] for port in gateway["ports"] if port["name"] == "http")
    )


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_systemd_unit_runs_a_command_with_settings_and_secrets_that_exist(unit: Path) -> None:
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


def test_kubernetes_and_systemd_have_all_roles() -> None:
    assert set(PODS) == set(ROLES)
    assert {unit.stem.removeprefix("kith-") for unit in UNITS} == set(ROLES)
