"""Copies binaries to a folder from which another user can run them.

Root's virtual environment may be in a folder that only root can enter, such as /root. Changing the
mode of that folder would expose everything else in it, so the binaries are copied. A copy is named
by a hash of its content, and is made once.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Only root can write to /var/cache, so nobody else can prepare a malicious copy there. The other
# two are for images with a read-only system. A copy is used only if root alone can write to it.
_ROOTS = ("/var/cache", "/var/tmp", "/tmp")  # noqa: S108
_NOT_NEEDED = shutil.ignore_patterns("include", "pkgconfig", "*.a", "__pycache__")


@dataclass(frozen=True, slots=True)
class Parts:
    """Trees below `base` that only work together, at their relative paths."""

    base: Path
    trees: tuple[Path, ...]


def copies_of(parts: Parts, wanted: Path) -> Iterator[Path]:
    """Yield the path of `wanted` (a folder in `parts`) in world-readable copies.

    There may be several copies, because one may be on a file system that is mounted noexec. The
    caller uses the first one that runs.
    """
    name = f"kith-{_fingerprint(parts)}"
    for root in _ROOTS:
        try:
            copy = _copy(parts, Path(root) / name)
        except OSError:  # read-only, full, or missing: try the next one
            continue
        yield copy / wanted.relative_to(parts.base)


def _copy(parts: Parts, target: Path) -> Path:
    """Copy the parts to `target`, unless it is a trusted copy already. Returns the copy's folder,
    which has another name if `target` is not trusted. Raises OSError."""
    if _is_writable_only_by_us(target):
        return target
    staging = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        for tree in filter(Path.exists, parts.trees):
            into = staging / tree.relative_to(parts.base)
            shutil.copytree(tree, into, ignore=_NOT_NEEDED, dirs_exist_ok=True)
        _make_readable_by_all(staging)
        os.sync()  # otherwise a power failure could keep the rename and lose the contents
        staging.rename(target)
    except OSError:
        if target.exists() and not _is_writable_only_by_us(target):
            return staging  # the other copy cannot be trusted
        shutil.rmtree(staging, ignore_errors=True)
        if not target.exists():
            raise
    return target  # our copy, or a trusted one that another process made meanwhile


def _is_writable_only_by_us(folder: Path) -> bool:
    if not folder.is_dir():
        return False
    found = folder.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _make_readable_by_all(root: Path) -> None:
    root.chmod(0o755)
    for path in root.rglob("*"):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)


def _fingerprint(parts: Parts) -> str:
    digest = hashlib.sha256()
    for tree in parts.trees:
        for file in sorted(path for path in tree.rglob("*") if path.is_file()):
            digest.update(str(file.relative_to(parts.base)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
