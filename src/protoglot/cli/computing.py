"""Where a command computes, and what it draws: ``--device``, ``--threads`` and ``--seed``."""

import os
from collections.abc import Callable
from typing import TypeVar

import click

SEED = click.IntRange(0, 2**32 - 1)
"""What ``--seed`` may be."""

Command = TypeVar("Command", bound=Callable[..., object])


def computing_options(command: Command) -> Command:
    """Add ``--device`` and ``--threads`` to a command, for :func:`prepare`."""
    for option in (
        click.option("--threads", type=click.IntRange(1), help="CPU threads [default: all cores]."),
        click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:N."),
    ):
        command = option(command)
    return command


def prepare(device: str, threads: int | None) -> str:
    """Set up what :func:`computing_options` asks for; return the device chosen."""
    cores = os.cpu_count() or 1
    if threads is not None and threads > cores:
        raise click.UsageError(f"--threads {threads}: more than there are cores; wanted 1 to {cores}")
    from protoglot.devices import choose_device, prepare_cpu

    chosen = choose_device(device)
    prepare_cpu(threads)
    return chosen
