"""Ctrl-C and SIGTERM: ask a long command to save and stop, rather than kill it."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def stop_on_signals(on_first: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether a stop was asked for. A second Ctrl-C stops at once.

    Args:
        on_first: called at the first signal, to say what will happen.
    """
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = True
        on_first()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
