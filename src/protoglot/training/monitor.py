"""What a run tells while it goes on: metrics as JSON lines, and progress for whoever watches."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from protoglot.errors import ConfigError
from protoglot.storage import append_line, write_atomically

METRICS = "metrics.jsonl"
_SECONDS_BETWEEN_LINES = 30.0


class Monitor(Protocol):
    """Receives every metric as it is measured."""

    def progress(self, share: float, metrics: dict[str, Any]) -> None:
        """A few steps were done; the share of the budget used so far and averages since the last call."""
        ...

    def message(self, text: str) -> None:
        """Something worth a line."""
        ...


class Silence:
    """A monitor for tests and for those who do not watch."""

    def progress(self, share: float, metrics: dict[str, Any]) -> None:
        """Nothing."""

    def message(self, text: str) -> None:
        """Nothing."""


class MetricsFile:
    """Metrics as JSON lines; after a resume, lines of steps that will be done again are dropped."""

    def __init__(self, path: Path, *, keep_until_step: int) -> None:
        self._path = path
        if path.exists():
            kept = [
                line for line in path.read_text(encoding="utf-8").splitlines() if _step_of(line) <= keep_until_step
            ]
            write_atomically(path, "".join(f"{line}\n" for line in kept if _step_of(line) >= 0))

    def write(self, metrics: dict[str, Any]) -> None:
        """Append one line."""
        append_line(self._path, json.dumps(metrics))


def _step_of(line: str) -> float:
    """Step of a line of metrics; -1 for one that was cut off by a crash."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return -1


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a metrics file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if _step_of(line) >= 0]


@contextlib.contextmanager
def watch() -> Iterator[Monitor]:
    """Progress on standard error: a bar on a terminal, a line every half minute elsewhere."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("training"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(bar, bar.add_task("training", total=1.0, status="starting"))


@contextlib.contextmanager
def with_tensorboard(monitor: Monitor, run: Path, *, enabled: bool) -> Iterator[Monitor]:
    """The same monitor, with metrics written for TensorBoard as well.

    Raises:
        ConfigError: if TensorBoard is asked for and not installed.
    """
    if not enabled:
        yield monitor
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ConfigError('TensorBoard is not installed; wanted pip install "protoglot[tensorboard]"') from error
    writer = SummaryWriter(str(run / "tensorboard"))
    try:
        yield _TensorBoard(monitor, writer)
    finally:
        writer.close()


class _TensorBoard:
    def __init__(self, monitor: Monitor, writer: Any) -> None:  # noqa: ANN401 - an optional dependency
        self._monitor, self._writer = monitor, writer

    def progress(self, share: float, metrics: dict[str, Any]) -> None:
        for name in ("bits_per_character", "learning_rate", "characters_per_second"):
            self._writer.add_scalar(name, metrics[name], metrics["step"])
        self._monitor.progress(share, metrics)

    def message(self, text: str) -> None:
        self._monitor.message(text)


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:  # noqa: ANN401 - rich is imported where it is used
        self._bar, self._task = bar, task

    def progress(self, share: float, metrics: dict[str, Any]) -> None:
        self._bar.update(self._task, completed=share, status=describe(metrics))

    def message(self, text: str) -> None:
        self._bar.console.print(text)


class _Lines:
    def __init__(self) -> None:
        self._last = -_SECONDS_BETWEEN_LINES

    def progress(self, share: float, metrics: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self.message(f"{share:4.0%}  {describe(metrics)}")

    def message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def describe(metrics: dict[str, Any]) -> str:
    """Metrics in words."""
    left = metrics["seconds_left"]
    return (
        f"{metrics['bits_per_character']:.3f} bits/character  {metrics['characters'] / 1e6:.2f} M characters  "
        f"{metrics['characters_per_second']:,.0f} characters/s  {format_seconds(left)} left"
    )


def format_seconds(seconds: float) -> str:
    """Seconds as people say them."""
    whole = max(round(seconds), 0)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
