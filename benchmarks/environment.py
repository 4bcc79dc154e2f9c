"""Where a benchmark ran."""

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from protoglot import __version__
from protoglot.storage import write_atomically

RESULTS = Path(__file__).parent / "results"


def describe_environment() -> dict[str, Any]:
    """Machine and versions."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else ""
    return {
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "load_average": os.getloadavg(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "protoglot": __version__,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def matmul_gflops(size: int = 1536, seconds: float = 2.0) -> float:
    """Best float32 matrix product in a short while, in GFLOPS: the practical peak of the machine.

    PyTorch has two libraries for it, and which is faster depends on the processor: both are tried.
    """
    plain = torch.randn(size, size), torch.randn(size, size)
    products: list[Callable[[], object]] = [lambda: functional.linear(*plain)]
    if torch.backends.mkldnn.is_available():
        packed = [matrix.to_mkldnn() for matrix in plain]
        products.append(lambda: functional.linear(*packed))
    best = float("inf")
    for product in products:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            product()
            best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def save_result(name: str, result: dict[str, Any]) -> Path:
    """Write a result with its environment."""
    path = RESULTS / f"{name}.json"
    write_atomically(path, json.dumps({"environment": describe_environment(), **result}, indent=1) + "\n")
    return path
