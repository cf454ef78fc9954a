"""The playground is bundled in a copy of its sources, and a failed build keeps the old bundle."""

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from gateway import bundling
from gateway.bundling import BUILDING, FAILED, BundlingFailed, bundle
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]

NPM_THAT_SUCCEEDS = """#!/bin/sh
case "$1" in
  ci) mkdir node_modules ;;
  run) mkdir -p ../assets && echo new > ../assets/playground.js && echo new > ../assets/worker.js ;;
esac
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "package.json").write_text("{}")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "large").touch()
    return folder


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> None:
    """Make `script` the only npm in PATH, or none."""
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    if script is not None:
        file = programs / "npm"
        file.write_text(script)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    others = "" if script is None else ":/bin:/usr/bin"
    monkeypatch.setenv("PATH", f"{programs}{others}")


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_a_bundle_is_built_once_and_again_when_its_sources_change(
    tmp_path: Path, sources: Path, assets: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm(tmp_path, monkeypatch, NPM_THAT_SUCCEEDS)
    (assets / "old.js").touch()
    assert bundle(sources, assets, work).startswith("bundled in")
    assert names(assets) == {"playground.js", "worker.js", ".built-from"}
    assert bundle(sources, assets, work) == "up to date"
    (sources / "package.json").write_text('{"private": true}')
    again = tmp_path / "again"
    again.mkdir()
    assert bundle(sources, assets, again).startswith("bundled in")
    assert names(sources) == {"package.json", "node_modules"}
    assert names(sources / "node_modules") == {"large"}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "npm is not installed"),
        (
            "#!/bin/sh\necho npm error code ECONNREFUSED\n"
            "echo npm error request to https://host/react failed\nexit 1\n",
            "npm ci --no-audit failed: code ECONNREFUSED",
        ),
        ("#!/bin/sh\nexit 1\n", "npm ci --no-audit failed: no output"),
        ("#!/bin/sh\nexit 0\n", "the build made no playground.js"),
    ],
)
def test_a_failed_build_reports_the_reason_and_keeps_the_old_bundle(
    tmp_path: Path,
    sources: Path,
    assets: Path,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
    reason: str,
) -> None:
    npm(tmp_path, monkeypatch, script)
    (assets / "playground.js").write_text("old")
    with pytest.raises(BundlingFailed) as failure:
        bundle(sources, assets, work)
    assert str(failure.value) == reason
    assert (assets / FAILED).read_text() == f"{reason}\n"
    assert (assets / "playground.js").read_text() == "old"
    assert not (assets / BUILDING).exists()


def test_a_build_is_stopped_at_the_deadline(
    tmp_path: Path, sources: Path, assets: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm(tmp_path, monkeypatch, "#!/bin/sh\nsleep 600 & sleep 600\n")
    monkeypatch.setattr(bundling, "DEADLINE_S", 0)
    with pytest.raises(BundlingFailed, match="did not end within 0 s"):
        bundle(sources, assets, work)


BUNDLE_IN_A_PROCESS = """
import sys
from pathlib import Path
from gateway import bundling
bundling.SOURCES, bundling.BUNDLE = Path(sys.argv[1]), Path(sys.argv[2])
sys.exit(bundling.main())
"""


async def start_bundling(sources: Path, assets: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BUNDLE_IN_A_PROCESS, str(sources), str(assets)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )


async def test_a_build_that_is_terminated_leaves_no_marker_and_no_process(
    tmp_path: Path, sources: Path, assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "pid"
    npm(
        tmp_path,
        monkeypatch,
        f"#!/bin/sh\necho $$ > {pid_file}.new; mv {pid_file}.new {pid_file}; sleep 600\n",
    )
    process = await start_bundling(sources, assets)

    async def runs() -> bool:
        return _exists(pid_file)

    await until(runs, "npm runs")
    assert _exists(assets / BUILDING)
    second = await start_bundling(sources, assets)
    out, _ = await second.communicate()
    assert (second.returncode, out) == (0, b"the playground: another process bundles it already\n")
    process.send_signal(signal.SIGTERM)
    await process.communicate()
    assert process.returncode == 0
    assert _names(assets) == {".lock"}
    assert _names(tmp_path) >= {"assets", "sources"}
    assert not _exists(tmp_path / "assets.work")
    with pytest.raises(ProcessLookupError):
        os.kill(_pid(pid_file), 0)


def _exists(path: Path) -> bool:
    return path.exists()


def _names(folder: Path) -> set[str]:
    return names(folder)


def _pid(file: Path) -> int:
    return int(file.read_text())
