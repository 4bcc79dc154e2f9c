"""Where a study ran: machine, versions, and the commit of the code if it has one."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from protoglot import __version__

_PACKAGES = ("torch", "numpy", "safetensors", "lang2vec", "eld")


def describe_versions() -> dict[str, str]:
    """Versions of what decides on results."""
    found = {"protoglot": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def describe_code() -> dict[str, object]:
    """Commit and versions, which tell apart what different code has made."""
    return {"commit": find_commit(), "versions": describe_versions()}


def describe_machine() -> dict[str, Any]:
    """Processor and memory."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor() or platform.processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory(),
    }


def find_commit() -> str | None:
    """Commit of the source that is running; ``None`` if it is not in a git repository of its own."""
    git = shutil.which("git")
    root = Path(__file__).resolve().parents[3]
    if git is None or not (root / ".git").exists():
        return None
    try:
        found = subprocess.run(  # noqa: S603 - the git of the user, with fixed arguments
            [git, "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
