"""``protoglot identify``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import computing_options, open_language
from protoglot.cli.output import (
    Row,
    format_option,
    make_table,
    out_option,
    print_rows,
    print_table,
    progress_of_amount,
    write_rows,
)
from protoglot.cli.reading import num_bytes_of, opened_text, shortened

if TYPE_CHECKING:
    from protoglot.adapted import AdaptedModel
    from protoglot.reader_model import ReaderModel

UNKNOWN = "unknown"


@click.command()
@click.argument("model_paths", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--text",
    "text_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default="-",
    help="One sentence a line; - is standard input [default: -].",
)
@click.option(
    "--threshold",
    metavar="BITS",
    type=click.FloatRange(0, min_open=True),
    help="Most bits per character of a known language.",
)
@out_option
@computing_options
@format_option
def identify(
    model_paths: tuple[Path, ...],
    text_path: Path,
    threshold: float | None,
    out: Path | None,
    device: str,
    threads: int | None,
    form: str,
) -> None:
    """In which of several languages each line is, or in none of them.

    Each MODEL is a directory that `protoglot adapt` wrote, and goes by the language it was given then, or by the name
    of the directory. Each line is scored on its own. The probabilities are those of the models, with no language
    likelier than another beforehand.

    A line is in an unknown language if it costs the best model more than it should. The cost is compared with that of
    a model without knowledge of the language: for a reader, one that has read nothing; for a network, one that knows
    nothing of the order of letters. `adapt` measures which share of that cost a reader needs for lines that it has not
    read, and stores it. A reader without this measurement (a page of fewer than nine lines, or an older release) and a
    network may need all of that cost. A related language in the same letters may still pass for a known one; a
    --threshold somewhat above what `protoglot score` says of other sentences in the known languages keeps it out.

    \b
    Examples:
      protoglot identify tzh.model tzo.model yua.model --text letters.txt
      protoglot identify tzh.model tzo.model --threshold 4 --format csv < letters.txt
    """
    from protoglot.identification import Identifier

    models = _by_name(model_paths, [open_language(path, device, threads) for path in model_paths])
    identifier = Identifier(models, threshold=threshold)
    rows: list[Row] = []
    with opened_text(text_path) as text, progress_of_amount(text.num_bytes, "identifying") as advance:
        for number, sentence in text.sentences():
            found = identifier.identify(sentence)
            rows.append(
                {
                    "line": number,
                    "language": found.best if found.is_known else UNKNOWN,
                    "best": found.best,
                    "probability": found.probabilities[found.best],
                    "bits_per_character": found.scores[found.best].bits_per_character,
                    "probabilities": dict(found.probabilities),
                    "sentence": sentence,
                }
            )
            advance(num_bytes_of(sentence))
    if out is not None:
        write_rows(out, rows)
    if form != "table":
        print_rows(rows, form)
        return
    _print_languages(rows, len(models))


def _by_name(
    paths: Sequence[Path], models: "Sequence[ReaderModel | AdaptedModel]"
) -> "dict[str, ReaderModel | AdaptedModel]":
    """Models by their languages, or by their directories where these are not known or not told apart."""
    names = [model.language or path.name for path, model in zip(paths, models, strict=True)]
    if len(set(names)) < len(names) or UNKNOWN in names:
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise click.UsageError("a model is given twice; wanted each once")
    return dict(zip(names, models, strict=True))


def _print_languages(rows: Sequence[Row], num_models: int) -> None:
    counts = ("line", "probability", "bits/character")
    table = make_table("line", "language", "probability", "bits/character", "sentence", numeric=counts)
    for row in rows:
        table.add_row(
            f"{row['line']:,}",
            str(row["language"]),
            f"{row['probability']:.3f}" if row["language"] == row["best"] else "–",
            f"{row['bits_per_character']:.3f}",
            shortened(str(row["sentence"])),
        )
    found = Counter(str(row["language"]) for row in rows)
    closing = ", ".join(f"{language} {number:,}" for language, number in found.most_common())
    print_table(f"{len(rows):,} lines, {num_models} models", table, closing)
