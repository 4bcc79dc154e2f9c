"""``protoglot export``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from protoglot.ngram import NGram

FORMATS = ("arpa-ngram", "onnx", "json")


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write; see above.")
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File to write."
)
@click.option(
    "--order",
    type=click.IntRange(1),
    help="Highest order of n-grams to write; most builds of KenLM read no more than 6 [default: 6].",
)
def export(model_path: Path, form: str, out: Path, order: int | None) -> None:
    """Write a model for other programs.

    MODEL is a directory that `protoglot adapt` wrote. The formats:

    \b
    arpa-ngram  an n-gram as KenLM reads it: of all that a reader has read, that of a network with
                one, or an n-gram alone. A token is a character; white space and what cannot be
                printed is <U+0020>, its code point.
    onnx        the network of a model that was adapted with a method (a reader is no network), for
                the typology of its language. In: ids (T, B), hidden and cell (L, B, H). Out:
                log_probabilities (T, B, V - 1), new_hidden, new_cell. Id v is at position v - 1;
                ids 0, 1, 2 are begin, end and other, and those of characters follow in the order
                of the metadata. Needs pip install 'protoglot[onnx]'.
    json        its facts (as `protoglot info` shows them) and its characters; for any directory
                that protoglot wrote.

    \b
    Examples:
      protoglot export mine.txt.model --format arpa-ngram --out mine.arpa
      protoglot export mine.txt.model --format onnx --out mine.onnx
    """
    if str(out) == "-":
        raise click.UsageError("--out -: standard output; wanted the path of a file")
    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new file")
    if form == "arpa-ngram":
        _export_arpa(model_path, out, order)
    elif order is not None:
        raise click.UsageError(f"--order {order}: for --format arpa-ngram; found {form}")
    else:
        {"onnx": _export_onnx, "json": _export_json}[form](model_path, out)


def _export_arpa(model_path: Path, out: Path, order: int | None) -> None:
    from protoglot.exporting.arpa import KENLM_ORDER, arpa_lines
    from protoglot.storage import file_written_whole

    ngram = _load_ngram(model_path, order)
    written = min(ngram.order, order or KENLM_ORDER)
    with file_written_whole(out) as stream:
        for line in arpa_lines(ngram, max_order=written):
            stream.write(line.encode("utf-8"))
    left_out = f"; longer n-grams, up to {ngram.order}, left out (--order)" if written < ngram.order else ""
    click.echo(f"{out}: {ngram.smoothing} n-gram of order {written}{left_out}")


def _load_ngram(path: Path, order: int | None) -> "NGram":
    """The n-gram of a model, or one alone."""
    from protoglot.artefacts import read_header
    from protoglot.errors import ConfigError
    from protoglot.exporting.arpa import KENLM_ORDER
    from protoglot.loading import load_language
    from protoglot.ngram import KIND, NGram
    from protoglot.reader_model import ReaderModel

    if read_header(path)["kind"] == KIND:
        return NGram.load(path)
    model = load_language(path)
    ngram = model.ngram(order or KENLM_ORDER) if isinstance(model, ReaderModel) else model.ngram
    if ngram is None:
        raise ConfigError(f"{path}: the model has no n-gram; wanted one that learned from sentences")
    return ngram


def _export_onnx(model_path: Path, out: Path) -> None:
    from protoglot.errors import ConfigError, StorageError
    from protoglot.loading import is_reader

    if is_reader(model_path):
        raise ConfigError(f"{model_path}: a reader; --format onnx wanted a network, made by `adapt --method`")
    from protoglot.adapted import AdaptedModel
    from protoglot.exporting.onnx import TOLERANCE, difference_from_network, to_onnx
    from protoglot.storage import write_atomically

    model = AdaptedModel.load(model_path)
    content = to_onnx(model)
    difference = difference_from_network(content, model)
    if not difference <= TOLERANCE:
        raise StorageError(f"{out}: not written: differs by {difference:.3g} nats from the network in onnxruntime")
    write_atomically(out, content)
    click.echo(f"{out}: network, {len(content):,} bytes; onnxruntime agrees to {difference:.1e} nats")


def _export_json(model_path: Path, out: Path) -> None:
    from protoglot.exporting.facts import to_json_facts
    from protoglot.storage import write_atomically

    write_atomically(out, to_json_facts(model_path))
    click.echo(f"{out}: facts and vocabulary")
