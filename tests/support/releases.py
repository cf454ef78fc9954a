"""The code of the previous release, from the history of this checkout."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

_RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) ", re.MULTILINE)


class NoHistory(Exception):
    """The previous release is not in this checkout. The text gives the reason."""


def previous_release() -> tuple[str, str]:
    """The version of the last release in the changelog, and its commit: that of the tag, or else
    the one that added the release to the changelog.

    Raises:
        NoHistory: this is no git checkout, or its history is incomplete.
    """
    released = _RELEASE.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if released is None:
        raise NoHistory("The changelog has no release.")
    version = released[1]
    for tag in (version, f"v{version}"):
        if commit := _git("rev-parse", "--verify", "--quiet", f"{tag}^{{commit}}"):
            return version, commit
    if _git("rev-parse", "--is-shallow-repository") != "false":
        raise NoHistory("This is no git checkout with its whole history.")
    commits = _git("log", "--format=%H", f"-S{released[0]}", "--", "CHANGELOG.md").split()
    if not commits:
        raise NoHistory(f"No commit has named the release {version}.")
    return version, commits[-1]


def extract(commit: str, folder: Path) -> None:
    """Write the packages of a commit into a folder."""
    file = folder.with_suffix(".tar")
    folder.mkdir()
    subprocess.run(["git", "archive", "-o", file, commit], cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", file, "-C", folder], check=True)
    file.unlink()


def _git(*arguments: str) -> str:
    """The output of git; empty if it fails."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else ""
