"""``protoglot generate``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare

if TYPE_CHECKING:
    from protoglot.generation import Reader
    from protoglot.vocabulary import Vocabulary


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--language", metavar="CODE", help="Language of the text; needed for a model that reads typology.")
@click.option("--start", metavar="TEXT", help="What the text begins with [default: see above].")
@click.option("--length", type=click.IntRange(1), default=100, show_default=True, help="Characters of each text.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="0 takes the likeliest."
)
@click.option(
    "--top-p", type=float, default=1.0, show_default=True, help="Sample among the likeliest with this share."
)
@click.option("--until-end", is_flag=True, help="Stop at the end of a sentence.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="How many texts.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@computing_options
def generate(
    model_path: Path,
    language: str | None,
    start: str | None,
    length: int,
    temperature: float,
    top_p: float,
    until_end: bool,
    samples: int,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Sample text from a model.

    MODEL is the directory of a run or a model, or one that `protoglot adapt` wrote. The end of a sentence is shown as a
    line break. With a run or a model, by default as in the paper: the first character is drawn uniformly, all others
    from the model at temperature 1. With an adapted model, all of a sentence is drawn from it.

    \b
    Examples:
      protoglot generate mine.txt.model --until-end --samples 10 --temperature 0.8
      protoglot generate runs/bare2 --length 25 --samples 5
      protoglot generate runs/oest2 --language eus --start "Eta " --temperature 0.7 --until-end
    """
    from protoglot.adapted import KIND
    from protoglot.artefacts import HEADER, read_header
    from protoglot.generation import GenerationConfig, sample

    chosen = prepare(device, threads)
    is_adapted = (model_path / HEADER).is_file() and read_header(model_path)["kind"] == KIND
    config = GenerationConfig(
        length=length,
        start="" if is_adapted and start is None else start,
        temperature=temperature,
        top_p=top_p,
        until_end=until_end,
    )
    open_reader = _open_adapted if is_adapted else _open_trained
    reader, vocabulary = open_reader(model_path, language, samples, chosen)
    for text in sample(reader, vocabulary, config, num_samples=samples, seed=seed):
        click.echo(text)


def _open_adapted(path: Path, language: str | None, samples: int, device: str) -> "tuple[Reader, Vocabulary]":
    from protoglot.adapted import AdaptedModel

    if language is not None:
        raise click.UsageError(f"{path}: a model of one language; wanted no --language")
    model = AdaptedModel.load(path, device=device)
    return model.reader(samples), model.vocabulary


def _open_trained(path: Path, language: str | None, samples: int, device: str) -> "tuple[Reader, Vocabulary]":
    from protoglot.generation import NetworkReader
    from protoglot.model.config import Conditioning
    from protoglot.trained import load_trained

    trained = load_trained(path, device=device)
    features = None
    if trained.model.config.conditioning is not Conditioning.BARE:
        if language is None:
            raise click.UsageError(f"{path}: a model that reads typology; wanted --language")
        features = trained.features_of(language)
    return NetworkReader(trained.model, features, samples), trained.vocabulary
