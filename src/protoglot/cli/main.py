"""The command ``protoglot``: finds the subcommand, and turns the user's errors into one line."""

import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from protoglot import __version__
from protoglot.errors import ProtoglotError

# Subcommand -> (module attribute, one line of help). The module is imported only when the command runs,
# so that --help answers at once.
COMMANDS = {
    "corpus": ("protoglot.cli.corpus:corpus", "List, measure, show, fetch and import text in many languages."),
    "typology": ("protoglot.cli.typology:typology", "Look at the typological vectors of languages (URIEL)."),
    "train": ("protoglot.cli.train:train", "Train a language model on many languages."),
    "evaluate": ("protoglot.cli.evaluate:evaluate", "Bits per character of a model, language by language."),
    "prior": ("protoglot.cli.prior:prior", "Turn a trained model into a universal prior over weights."),
    "probe": ("protoglot.cli.probe:probe", "Look into what makes a language hard, and into a prior."),
    "meta-train": ("protoglot.cli.meta_train:meta_train", "Train the scorer of the reader on many languages."),
    "tune": ("protoglot.cli.tune:tune", "Choose how a prior adapts, on its validation languages."),
    "build": ("protoglot.cli.build:build", "Make a scorer and a prior from two folders of text."),
    "demo": ("protoglot.cli.demo:demo", "Read a page in each of five unseen languages."),
    "adapt": ("protoglot.cli.adapt:adapt", "Make a language model from a page of sentences."),
    "score": ("protoglot.cli.score:score", "Bits per character of a text, by line, word or letter."),
    "complete": ("protoglot.cli.complete:complete", "The likeliest next characters and words."),
    "identify": ("protoglot.cli.identify:identify", "Which language each line of a text is in."),
    "generate": ("protoglot.cli.generate:generate", "Sample text from a model."),
    "compress": ("protoglot.cli.compress:compress", "Compress a text with a model."),
    "expand": ("protoglot.cli.compress:expand", "Give back a compressed text."),
    "info": ("protoglot.cli.info:info", "What a model, prior or run holds, and how it was made."),
    "export": ("protoglot.cli.export:export", "Write a model for other programs (ARPA, ONNX, JSON)."),
    "study": ("protoglot.cli.study:study", "Run many languages, methods and samples, and report on them."),
}

EXIT_USER_ERROR = 2
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of :data:`COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand, or return nothing for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every command explains itself: protoglot COMMAND --help.",
)
@click.version_option(__version__, prog_name="protoglot")
def cli() -> None:
    """Language models for languages with next to no text.

    protoglot learns a universal prior from the languages that have text, and uses it to model a language
    it has never seen from 0 to 100 sentences.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A letter that the terminal's encoding lacks is shown by its number: no reason to stop.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 after one line on stderr about an error of the user's making."""
    try:
        status = cli.main(args=arguments, prog_name="protoglot", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return EXIT_USER_ERROR
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "protoglot"
        return _complain(f"{error.format_message()} (see {command} --help)")
    except click.ClickException as error:
        return _complain(error.format_message())
    except ProtoglotError as error:
        return _complain(str(error))
    except (click.Abort, KeyboardInterrupt):
        return _say_interrupted()
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: not an error.
        _leave_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        # Errors about files have become a ProtoglotError by now; a full disk behind stdout has not.
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        _leave_stdout()
        return _complain(f"standard output: cannot be written ({error.strerror})")
    except Exception as error:
        if not _is_from_interruption(error):
            raise
        return _say_interrupted()
    return status if isinstance(status, int) else 0


def _is_from_interruption(error: BaseException) -> bool:
    """Whether something else made another error of an interruption, as compiled code does."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _say_interrupted() -> int:
    _complain("interrupted")
    return EXIT_INTERRUPTED


def _leave_stdout() -> None:
    """Python would complain once more when it flushes stdout at exit, so give it somewhere to flush to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> int:
    line = " ".join(message.split())
    click.echo(f"protoglot: error: {line}", err=True)
    return EXIT_USER_ERROR
