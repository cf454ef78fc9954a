"""The programs that read the files of a deployment accept them: kubectl, systemd, Compose.

`make deployment-test` installs what is missing; without a program its test is skipped.
"""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
COMPOSE = [ROOT / "docker" / name for name in ("compose.yaml", "compose.citus.yaml")]
KUBERNETES_VERSIONS = ("1.29", "1.32", "1.34")
TIMEOUT_S = 120


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(*argv: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        argv,
        cwd=cwd,
        timeout=TIMEOUT_S,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("version", KUBERNETES_VERSIONS)
def test_kubernetes_accepts_what_kustomize_builds(version: str, tmp_path: Path) -> None:
    validate, kubectl = program("kubernetes-validate"), program("kubectl")
    built = run(kubectl, "kustomize", KUBERNETES)
    objects: list[dict[str, Any]] = list(yaml.safe_load_all(built))
    kinds = sorted(one["kind"] for one in objects)
    assert kinds.count("Deployment") == 2
    assert {"Job", "Service", "ConfigMap", "HorizontalPodAutoscaler"} <= set(kinds)
    assert all(one["metadata"].get("namespace", "kith") == "kith" for one in objects)
    file = tmp_path / "built.yaml"
    file.write_text(built)
    run(validate, "--strict", "-k", version, file)


def test_kubernetes_rejects_an_unknown_field(tmp_path: Path) -> None:
    """The test above can fail."""
    validate, kubectl = program("kubernetes-validate"), program("kubectl")
    built = run(kubectl, "kustomize", KUBERNETES)
    file = tmp_path / "built.yaml"
    file.write_text(built.replace("livenessProbe:", "liveProbe:"))
    done = subprocess.run(
        [validate, "--strict", "-k", KUBERNETES_VERSIONS[0], file], capture_output=True
    )
    assert done.returncode != 0


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    analyze = program("systemd-analyze")
    for unit in UNITS:
        # The command and the user must exist.
        text = unit.read_text("utf-8").replace("/opt/kith/bin/kith", "/bin/true")
        (tmp_path / unit.name).write_text(
            re.sub("^(User|Group)=kith$", r"\1=nobody", text, flags=re.M)
        )
    names = [unit.name for unit in UNITS]
    run(analyze, "verify", "--man=no", "--recursive-errors=no", *names, cwd=tmp_path)


def test_compose_accepts_the_files(tmp_path: Path) -> None:
    compose = program("docker-compose")
    version = run(compose, "version", "--short").strip()
    arguments: list[str | Path] = []
    for file in COMPOSE:
        text = file.read_text("utf-8")
        if version.startswith("1."):
            # Version 1 rejects these, and requires `version`.
            text = re.sub(r", pids: \d+", "", re.sub("^name: kith$", "", text, flags=re.M))
            text = 'version: "3.9"\n' + text
        (tmp_path / file.name).write_text(text)
        arguments += ["-f", tmp_path / file.name]
    resolved = yaml.safe_load(run(compose, *arguments, "config", cwd=tmp_path))
    environment = resolved["services"]["gateway-1"]["environment"]
    assert environment["KITH_CACHE_URL"] == "redis+cluster://cache-1:6379"
    assert environment["KITH_METRICS_ADDRESS"] == "0.0.0.0:9100"
    assert resolved["services"]["migrate"]["command"][:2] == ["migrate", "--citus"]
