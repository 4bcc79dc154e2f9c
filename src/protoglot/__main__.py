"""The command ``protoglot``, and ``python -m protoglot``.

Importing the command takes a while, and Ctrl-C may come meanwhile: so it is dealt with before anything else is
imported.
"""

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SECONDS_TO_RETURN = 0.05


def main() -> None:
    """Run the command line and exit with its status; if interrupted, with one line and status 130."""
    # Who was started in the background is not concerned by Ctrl-C.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        _run()
        return
    # Nothing is to be tidied up before a command runs, and nothing after it.
    signal.signal(signal.SIGINT, _leave_at_once)
    try:
        import protoglot.cli.main  # noqa: F401 - the import that takes a while

        sys.unraisablehook = _interrupt_again
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _run()
    except KeyboardInterrupt:
        _leave_at_once()
    finally:
        signal.signal(signal.SIGINT, _leave_at_once)


def _run() -> None:
    from protoglot.cli.main import main as run_and_exit

    run_and_exit()


def _interrupt_again(ignored: "UnraisableHookArgs") -> None:
    """Where an interruption cannot pass (finalisers, callbacks of C), Python would drop it and go on."""
    if ignored.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(ignored)
        return
    import threading

    # Later, from another thread: raised from here, it would be dropped as well.
    main_thread = threading.main_thread().ident
    timer = threading.Timer(_SECONDS_TO_RETURN, signal.pthread_kill, (main_thread, signal.SIGINT))
    timer.daemon = True
    timer.start()


def _leave_at_once(*_: object) -> None:
    # As click does, with the end of the line in which a terminal shows ^C.
    os.write(2, b"\nprotoglot: error: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
