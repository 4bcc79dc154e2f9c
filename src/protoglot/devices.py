"""Where to compute, and how to be gentle with the processor."""

import torch

from protoglot.errors import ConfigError


def choose_device(name: str = "auto") -> str:
    """A device by name; ``auto`` is the first CUDA device if there is one, else the CPU.

    Raises:
        ConfigError: for a device that is not there.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"device {name!r}; wanted auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {name!r}; wanted auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and not (
        torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count()
    ):
        raise ConfigError(f"device {name!r}: {torch.cuda.device_count()} CUDA devices here; wanted auto or cpu")
    return str(device)


def prepare_cpu(num_threads: int | None = None) -> None:
    """Set the number of threads, and flush denormal numbers, which can slow long runs down."""
    if num_threads is not None:
        torch.set_num_threads(num_threads)
    torch.set_flush_denormal(True)
