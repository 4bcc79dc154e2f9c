"""``protoglot demo``."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.output import make_table, print_table, progress_of_amount

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from protoglot.completion import Completer
    from protoglot.corpus.interface import Corpus
    from protoglot.reader_model import ReaderModel
    from protoglot.reading.scorer import Scorer

_FIRST, _COLUMNS = 200, 32  # the curve begins at so many characters, and has at most so many columns
_MARKS = {"n-gram": "n", "PPM": "p", "reader": "●"}
_LONG_WORD = 6


@click.command()
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", default="eld", show_default=True, help="Text to read."
)
@click.option(
    "--languages",
    default="aze,cat,kur,msa,yor",
    show_default=True,
    help="Languages that no part of the model has read.",
)
@click.option("--sentences", type=click.IntRange(1), default=100, show_default=True, help="Of the page.")
@click.option("--fast", is_flag=True, help="Leave the network of letters out.")
def demo(corpus_name: str, languages: str, sentences: int, fast: bool) -> None:
    """Read a page in each of five unseen languages, and show what came of it.

    A reader that has read nothing reads a page of sentences of each language, and then others of the same source. Each
    character is predicted from those before it; bits per character is the log loss. Beside it stand PPM, a general
    compressor, and an n-gram that is estimated anew as it reads. Then shown: how surprising the words of a sentence
    are, suggestions for a word that is half typed, what to type next, and a sentence that the reader made up.

    \b
    Examples:
      protoglot demo
      protoglot demo --languages eus,yor --sentences 30
    """
    from protoglot.corpus.opening import open_corpus
    from protoglot.reading.shipped import shipped_scorer, shipped_scorer_path
    from protoglot.rivals import has_ppm

    start = time.monotonic()
    corpus = open_corpus(corpus_name)
    codes = [code.strip() for code in languages.split(",")]
    known = {record.code: record for record in corpus.languages()}
    seen = languages_of_training(shipped_scorer_path())
    for code in codes:
        if code not in known:
            raise click.UsageError(f"--languages {code!r}: not in {corpus.name}; wanted some of its languages")
        if known[code].iso639_3 in seen:
            click.echo(f"{code}: the model was trained on it, so this is no test of a new language", err=True)
    scorer = shipped_scorer()
    click.echo(
        f"{len(codes)} languages that the model has never read: of each a page of {sentences} sentences, then others "
        f"in their order ({corpus.name})"
    )
    if not has_ppm():
        click.echo("PPM is left out: pyppmd is not installed (pip install 'protoglot[ppmd]')")
    texts = {code: _draw(corpus, code, sentences) for code in codes}
    lengths = _columns(min(len(text.whole) for text in texts.values()))
    found = []
    for code, text in texts.items():
        with progress_of_amount(1, f"reading {known[code].name}") as advance:
            measured, model = _read(scorer, text, lengths, fast=fast, advance=advance)
        found.append(measured)
        click.echo(f"\n{known[code].name} ({code}), read in {measured.seconds:.1f} s")
        for line in _show(model, text.others):
            click.echo(f"  {line}")
    _print_curves(found, lengths)
    table = make_table("code", "language", *_headings(found), numeric=_headings(found), whole=("code",))
    for code, measured in zip(codes, found, strict=True):
        table.add_row(code, known[code].name, *(f"{value:.3f}" for value in measured.values()))
    means = [sum(column) / len(found) for column in zip(*(measured.values() for measured in found), strict=True)]
    table.add_row("", "mean", *(f"{mean:.3f}" for mean in means))
    print_table(
        "\nbits per character of the page, from nothing, and of what came after it, reading on",
        table,
        f"{time.monotonic() - start:.0f} s in all",
    )
    click.echo("\nYour own text, one sentence a line:  protoglot adapt mine.txt --language CODE")


def languages_of_training(path: Path) -> set[str]:
    """Codes of the languages that a scorer was trained on, as far as it says."""
    from protoglot.artefacts import read_header

    texts = read_header(path)["content"].get("provenance", {}).get("texts", [])
    return {str(text["code"]) for text in texts if isinstance(text, dict) and "code" in text}


@dataclass(frozen=True, slots=True)
class _Text:
    """A page and what comes after it."""

    page: Sequence[str]
    others: Sequence[str]
    whole: str
    num_page: int


@dataclass(frozen=True, slots=True)
class _Measured:
    """Bits per character by system."""

    curves: Mapping[str, Sequence[float]]
    """From one column of the diagram to the next."""

    page: Mapping[str, float]
    on: Mapping[str, float]
    seconds: float
    """That the reader took for the page."""

    def values(self) -> list[float]:
        """Of a row of the table."""
        return [*self.page.values(), *self.on.values()]


def _headings(found: Sequence[_Measured]) -> list[str]:
    return [f"{part}: {system}" for part in ("page", "on") for system in found[0].page]


def _draw(corpus: "Corpus", code: str, number: int) -> _Text:
    """A page drawn from the training part by seed, and the test part in its order."""
    from protoglot.reader_model import page_of
    from protoglot.splits import few_shot_sample, split_sentences

    split = split_sentences(corpus.sentences(code))
    if not split.test:
        raise click.UsageError(
            f"--languages {code}: {len(split.train)} sentences, none to score; wanted ten or more"
        )
    page = few_shot_sample(split.train, number, language=code, seed=0)
    return _Text(page, split.test, page_of([*page, *split.test]), len(page_of(page)))


def _columns(num_characters: int) -> list[int]:
    """Where the columns of the diagram begin and end: in even ratios, no two alike."""
    first = min(_FIRST, num_characters // 2)
    ratio = num_characters / first
    return sorted({round(first * ratio ** (column / _COLUMNS)) for column in range(_COLUMNS + 1)})


def _read(
    scorer: "Scorer", text: _Text, lengths: Sequence[int], *, fast: bool, advance: Callable[[float], None]
) -> "tuple[_Measured, ReaderModel]":
    """Measure all systems; also the reader after the page."""
    import numpy as np

    from protoglot.reader_model import ReaderModel
    from protoglot.reading.reader import Reader
    from protoglot.rivals import has_ppm, ngram_bits, ppm_bits

    start = time.monotonic()
    reader = Reader(scorer, with_letters=not fast)
    page = reader.read(text.whole[: text.num_page])
    seconds = time.monotonic() - start
    model = ReaderModel(reader.copy())
    advance(0.3)
    on = reader.read(text.whole[text.num_page :])
    advance(0.3)
    ends = [0, text.num_page, len(text.whole), *lengths]
    bits = {"n-gram": _sums(ngram_bits([*text.page, *text.others]), ends)}
    advance(0.3)
    if has_ppm():
        bits["PPM"] = ppm_bits(text.whole, ends)
    bits["reader"] = _sums(np.concatenate([page.bits, on.bits]), ends)
    rates = {system: _rates(ends[:3], sums[:3]) for system, sums in bits.items()}
    measured = _Measured(
        curves={system: _rates(lengths, sums[3:]) for system, sums in bits.items()},
        page={system: rate[0] for system, rate in rates.items()},
        on={system: rate[1] for system, rate in rates.items()},
        seconds=seconds,
    )
    return measured, model


def _sums(bits: "NDArray[np.float64]", lengths: Sequence[int]) -> list[float]:
    """Bits of the first characters."""
    return [float(bits[:length].sum()) for length in lengths]


def _rates(lengths: Sequence[int], sums: Sequence[float]) -> list[float]:
    """Bits per character from each length to the next."""
    return [(sums[i + 1] - sums[i]) / (lengths[i + 1] - lengths[i]) for i in range(len(lengths) - 1)]


def _show(model: "ReaderModel", others: Sequence[str]) -> list[str]:
    """Surprisal, suggestions and a made-up sentence, by a reader of the page."""
    from protoglot.completion import Completer
    from protoglot.generation import GenerationConfig
    from protoglot.surprisal import surprisals

    [line] = surprisals(model, [(1, others[0])])
    shown = [
        "bits of each word:  " + " ".join(f"{word.text}[{word.total_bits:.0f}]" for word in line.words()[:10])
    ]
    completer = Completer(model)
    typed, wanted = _half_typed(others)
    completer.text = typed
    shown.append(f"half typed:         …{typed[-30:]}|  {_suggestions(completer)}  (was: {wanted})")
    completer.text = f"{typed}{wanted.removeprefix(completer.begun_word)} "
    shown.append(f"what comes next:    …{completer.text[-30:]}|  {_suggestions(completer)}")
    config = GenerationConfig(length=100, start="", temperature=0.7, until_end=True)
    [made] = model.write(config, number=1, seed=0)
    shown.append(f"made up:            {made}")
    return shown


def _half_typed(sentences: Sequence[str]) -> tuple[str, str]:
    """The begin of a sentence up to the middle of its first long word after some others, and that word."""
    for sentence in sentences:
        words = sentence.split(" ")
        for place, word in enumerate(words[3:], start=3):
            if len(word) >= _LONG_WORD and word.isalpha():
                return " ".join([*words[:place], word[: len(word) // 2]]), word
    first = sentences[0].split(" ")[0]
    return first[: (len(first) + 1) // 2], first


def _suggestions(completer: "Completer") -> str:
    return ", ".join(f"{completer.begun_word}{word.text} {word.probability:.0%}" for word in completer.words(3))


def _print_curves(found: Sequence[_Measured], lengths: Sequence[int]) -> None:
    """The mean over languages, against characters read."""
    from protoglot.cli.curve import draw_curves

    curves = {
        _MARKS[system]: [
            sum(values) / len(found)
            for values in zip(*(measured.curves[system] for measured in found), strict=True)
        ]
        for system in found[0].curves
    }
    marks = ", ".join(f"{_MARKS[system]} {system}" for system in found[0].curves)
    click.echo(f"\nbits per character ({marks}; mean of the languages) against characters read\n")
    steps = [1, 2, 5]
    wanted = [step * 10**power for power in range(2, 8) for step in steps]
    labels = [
        (next(i for i, length in enumerate(lengths) if length >= number), f"{number:,}")
        for number in wanted
        if lengths[0] <= number <= lengths[-1] * 0.9
    ]
    for line in draw_curves(curves, labels):
        click.echo(line)
