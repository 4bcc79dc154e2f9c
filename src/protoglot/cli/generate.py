"""``protoglot generate``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, open_language, prepare

if TYPE_CHECKING:
    from protoglot.generation import GenerationConfig


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

    MODEL is a directory that `protoglot adapt` wrote, or the directory of a run or a trained model. The end of a
    sentence is shown as a line break. With a model of `adapt`, all of a sentence is drawn from it; with a run or a
    trained model, by default as in the paper: the first character is drawn uniformly, all others from the model at
    temperature 1.

    \b
    Examples:
      protoglot generate mine.txt.model --until-end --samples 10 --temperature 0.8
      protoglot generate runs/bare2 --length 25 --samples 5
      protoglot generate runs/oest2 --language eus --start "Eta " --temperature 0.7 --until-end
    """
    from protoglot.artefacts import HEADER, read_header
    from protoglot.generation import GenerationConfig
    from protoglot.loading import NETWORK
    from protoglot.reading.reader import KIND as READER

    kind = read_header(model_path)["kind"] if (model_path / HEADER).is_file() else ""
    is_language = kind in (NETWORK, READER)
    config = GenerationConfig(
        length=length,
        start="" if is_language and start is None else start,
        temperature=temperature,
        top_p=top_p,
        until_end=until_end,
    )
    if is_language:
        if language is not None:
            raise click.UsageError(f"{model_path}: a model of one language; wanted no --language")
        texts = open_language(model_path, device, threads).write(config, number=samples, seed=seed)
    else:
        texts = _write_trained(model_path, language, config, samples, seed, prepare(device, threads))
    for text in texts:
        click.echo(text)


def _write_trained(
    path: Path, language: str | None, config: "GenerationConfig", samples: int, seed: int, device: str
) -> list[str]:
    from protoglot.model.config import Conditioning
    from protoglot.model.sampling import generate
    from protoglot.trained import load_trained

    trained = load_trained(path, device=device)
    features = None
    if trained.model.config.conditioning is not Conditioning.BARE:
        if language is None:
            raise click.UsageError(f"{path}: a model that reads typology; wanted --language")
        features = trained.features_of(language)
    return generate(trained.model, trained.vocabulary, features, config, num_samples=samples, seed=seed)
