"""``protoglot complete``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import computing_options, open_language
from protoglot.cli.output import Row, format_option, make_table, print_rows, print_table

if TYPE_CHECKING:
    from protoglot.completion import Completion

_JOINERS = "\u200c\u200d"


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("beginning", metavar="BEGINNING", default="")
@click.option(
    "--number", type=click.IntRange(1), default=5, show_default=True, help="Of characters, and of words."
)
@click.option("--words/--no-words", default=True, show_default=True, help="Whether to look for words too.")
@computing_options
@format_option
def complete(
    model_path: Path,
    beginning: str,
    number: int,
    words: bool,
    device: str,
    threads: int | None,
    form: str,
) -> None:
    """How a text goes on, by the model: the likeliest next characters and words.

    MODEL is a directory that `protoglot adapt` wrote; BEGINNING is the begin of a sentence, or several lines, whose
    last word may be unfinished. Without it, the begin of a sentence is guessed. The probability of a word is that
    exactly this word is next, and then a blank or the end of the sentence. Words are found by a search that may miss
    an unlikely one.

    \b
    Examples:
      protoglot complete mine.txt.model "Eta hark er"
      protoglot complete mine.txt.model "Eta " --number 10 --format json
    """
    from protoglot.completion import Completer
    from protoglot.text import normalise_beginning

    completer = Completer(open_language(model_path, device, threads))
    completer.text = normalise_beginning(beginning)
    rows = [_row("character", found.text, found) for found in completer.characters(number)]
    if words:
        rows += [_row("word", completer.begun_word + found.text, found) for found in completer.words(number)]
    if form != "table":
        print_rows(rows, form)
        return
    table = make_table("next", "text", "probability", numeric=("probability",))
    for row in rows:
        table.add_row(str(row["next"]), _shown(str(row["text"])), f"{row['probability']:.4f}")
    print_table(f"{model_path} after {completer.text!r}", table)


def _row(kind: str, text: str, found: "Completion") -> Row:
    return {"next": kind, "text": text, "probability": found.probability}


def _shown(text: str) -> str:
    """Text in a table: what one would not see is named; within a word, joiners are let through."""
    visible = "".join(character for character in text if character not in _JOINERS)
    is_seen = bool(visible) and visible.isprintable()
    return {" ": "(blank)", "\n": "(end)"}.get(text, text if is_seen else ascii(text))
