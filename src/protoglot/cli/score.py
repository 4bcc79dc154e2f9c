"""``protoglot score``."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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
from protoglot.cli.reading import STANDARD_INPUT, Text, num_bytes_of, opened_text, shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protoglot.scores import Score
    from protoglot.surprisal_files import SurprisalFile

Command = TypeVar("Command", bound=Callable[..., object])


def _file_option(name: str, attribute: str, *endings: str, help_text: str) -> Callable[[Command], Command]:
    """An option for a file to write; another ending is refused before any work is done."""

    def check(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix not in endings:
            wanted = " or ".join(endings)
            raise click.BadParameter(f"{path}: ending {path.suffix!r}; wanted a name that ends in {wanted}")
        return path

    type_ = click.Path(path_type=Path, dir_okay=False)
    return click.option(name, attribute, metavar="FILE", type=type_, callback=check, help=help_text)


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.argument("text_paths", metavar="[TEXT]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--lines", is_flag=True, help="A row for each line, not for each text.")
@click.option("--static", is_flag=True, help="Score each line on its own, not after those before it; for readers.")
@_file_option(
    *("--characters", "characters_path", ".tsv", ".json"),
    help_text="Also write the bits of every character and word: FILE.tsv or FILE.json.",
)
@_file_option(
    *("--heat-map", "map_path", ".html"),
    help_text="Also write a page that shows the text in colours: FILE.html.",
)
@out_option
@computing_options
@format_option
def score(
    model_path: Path,
    text_paths: tuple[Path, ...],
    lines: bool,
    static: bool,
    characters_path: Path | None,
    map_path: Path | None,
    out: Path | None,
    device: str,
    threads: int | None,
    form: str,
) -> None:
    """How well a model predicts a text, in bits per character: the fewer, the better.

    MODEL is a directory that `protoglot adapt` wrote. Each TEXT has one sentence a line; - or none is standard input. A
    text is read from its begin to its end, each line after those before it; every character and end of line counts.
    A reader learns from each line before it scores the next, and forgets the text afterwards; with --static it scores
    each line as if it came right after what it was made from. It knows the lines that it was made from: if a text has
    some of them, a message says how many.

    --characters FILE.tsv has a row for every character and end of line (shown as <end>). A word is what stands between
    blanks, and its bits include those of the blank or end after it; they stand in the row of that blank or end, so that
    the columns bits and word_bits each add up to the whole. FILE.json has the same, nested: lines, words, characters.

    \b
    Examples:
      protoglot score mine.txt.model other.txt
      protoglot score mine.txt.model a.txt b.txt --lines --out lines.csv
      protoglot score mine.txt.model poem.txt --heat-map poem.html --characters poem.tsv
      grep -v '^#' notes.txt | protoglot score mine.txt.model
    """
    from protoglot.reader_model import ReaderModel
    from protoglot.scores import Score
    from protoglot.surprisal import line_surprisals

    model = open_language(model_path, device, threads)
    score_text: Callable[[Iterable[str]], Iterator[tuple[str, NDArray[np.float64]]]]
    read_before: frozenset[str] = frozenset()
    if isinstance(model, ReaderModel):
        read_before = model.sentences_read()
        score_text = partial(model.nats_by_sentence, static=static)
    elif static:
        raise click.UsageError(
            f"--static: {model_path} is a network, which never learns from a text; wanted a reader"
        )
    else:
        score_text = model.nats_by_sentence
    rows: list[Row] = []
    total = Score(0.0, 0)
    num_lines = num_read_before = 0
    with contextlib.ExitStack() as stack:
        texts = [stack.enter_context(opened_text(path)) for path in text_paths or (STANDARD_INPUT,)]
        advance = stack.enter_context(progress_of_amount(sum(text.num_bytes for text in texts), "scoring"))
        files = stack.enter_context(_surprisal_files(characters_path, map_path, f"Surprisal of {model_path.name}"))
        for text in texts:
            for file in files:
                file.add_text(text.name)
            of_text, num_sentences, num_unknown = Score(0.0, 0), 0, 0
            for line in line_surprisals(score_text, text.sentences(), model.has_met):
                for file in files:
                    file.add(line)
                if lines:
                    rows.append(_row(text, line.score, line.num_unknown, line=line.number, sentence=line.text))
                of_text += line.score
                num_sentences += 1
                num_unknown += line.num_unknown
                num_read_before += line.text in read_before
                advance(num_bytes_of(line.text))
            if not lines:
                rows.append(_row(text, of_text, num_unknown, sentences=num_sentences))
            total += of_text
            num_lines += num_sentences
    if num_read_before:
        click.echo(
            f"{model_path}: has read {num_read_before:,} of the {num_lines:,} lines before, and knows them; "
            "wanted text that is new to it",
            err=True,
        )
    if out is not None:
        write_rows(out, rows)
    if form == "table":
        _print_scores(rows, model_path, total)
    else:
        print_rows(rows, form)


@contextlib.contextmanager
def _surprisal_files(
    characters_path: Path | None, map_path: Path | None, title: str
) -> Iterator[list["SurprisalFile"]]:
    """The files that were asked for, which appear whole when all is done."""
    from protoglot.heat_map import HeatMap
    from protoglot.storage import file_written_whole
    from protoglot.surprisal_files import NestedJson, TabSeparated

    with contextlib.ExitStack() as stack:

        def writer(path: Path) -> Callable[[str], object]:
            stream = stack.enter_context(file_written_whole(path))
            return lambda piece: stream.write(piece.encode("utf-8", "backslashreplace"))

        files: list[SurprisalFile] = []
        if characters_path is not None:
            make = NestedJson if characters_path.suffix == ".json" else TabSeparated
            files.append(make(writer(characters_path)))
        if map_path is not None:
            files.append(HeatMap(writer(map_path), title=title))
        yield files
        for file in files:
            file.finish()


def _row(text: Text, found: "Score", num_unknown: int, **more: object) -> Row:
    return {
        "text": text.name,
        **more,
        "bits_per_character": found.bits_per_character,
        "nats": found.nats,
        "characters": found.num_characters,
        "unknown_characters": num_unknown,
    }


def _print_scores(rows: list[Row], model_path: Path, total: "Score") -> None:
    of_lines = "line" in rows[0]
    counts = (
        ("line", "bits/character", "characters", "unknown")
        if of_lines
        else ("bits/character", "characters", "unknown", "sentences")
    )
    columns = ("text", *counts, "sentence") if of_lines else ("text", *counts)
    table = make_table(*columns, numeric=counts)
    for row in rows:
        scores = (f"{row['bits_per_character']:.3f}", f"{row['characters']:,}", f"{row['unknown_characters']:,}")
        if of_lines:
            table.add_row(str(row["text"]), f"{row['line']:,}", *scores, shortened(str(row["sentence"])))
        else:
            table.add_row(str(row["text"]), *scores, f"{row['sentences']:,}")
    closing = f"{total.bits_per_character:.3f} bits/character in {total.num_characters:,} characters"
    print_table(str(model_path), table, closing)
