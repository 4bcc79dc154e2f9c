"""Where a command computes, and what it draws: ``--device``, ``--threads`` and ``--seed``."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel
    from protoglot.reader_model import ReaderModel

SEED = click.IntRange(0, 2**32 - 1)
"""What ``--seed`` may be."""

Command = TypeVar("Command", bound=Callable[..., object])


def computing_options(command: Command) -> Command:
    """Add ``--device`` and ``--threads`` to a command, for :func:`prepare`."""
    for option in (
        click.option("--threads", type=click.IntRange(1), help="CPU threads of a network [default: all cores]."),
        click.option(
            "--device", default="auto", show_default=True, help="Of a network: auto, cpu, cuda or cuda:N."
        ),
    ):
        command = option(command)
    return command


def prepare(device: str, threads: int | None) -> str:
    """Set up what :func:`computing_options` asks for; return the device chosen."""
    check_threads(threads)
    from protoglot.devices import choose_device, prepare_cpu

    chosen = choose_device(device)
    prepare_cpu(threads)
    return chosen


def check_threads(threads: int | None) -> None:
    """Refuse more threads than there are cores."""
    cores = os.cpu_count() or 1
    if threads is not None and threads > cores:
        raise click.UsageError(f"--threads {threads}: more than there are cores; wanted 1 to {cores}")


def open_language(path: Path, device: str, threads: int | None) -> "ReaderModel | AdaptedModel":
    """A model that ``adapt`` wrote; PyTorch is imported, and set up as :func:`prepare` does, for a network alone.

    Raises:
        StorageError: if it is something else, or damaged.
        ConfigError: for a device that is not there.
    """
    from protoglot.loading import is_reader, load_language

    check_threads(threads)
    if is_reader(path) and device in ("auto", "cpu"):
        return load_language(path)
    return load_language(path, device=prepare(device, threads))
