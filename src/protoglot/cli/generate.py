"""``protoglot generate``."""

from pathlib import Path

import click

from protoglot.cli.computing import computing_options, prepare


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--language", metavar="CODE", help="Language of the text; needed for a model that reads typology.")
@click.option("--start", metavar="TEXT", help="What the text begins with [default: a random character].")
@click.option("--length", type=click.IntRange(1), default=100, show_default=True, help="Characters of each text.")
@click.option(
    "--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="0 takes the likeliest."
)
@click.option(
    "--top-p", type=float, default=1.0, show_default=True, help="Sample among the likeliest with this share."
)
@click.option("--until-end", is_flag=True, help="Stop at the end of a sentence.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="How many texts.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
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

    By default as in the paper: the first character is drawn uniformly, all others from the model at temperature 1.
    The end of a sentence is shown as a line break.

    \b
    Examples:
      protoglot generate runs/bare2 --length 25 --samples 5
      protoglot generate runs/oest2 --language eus --start "Eta " --temperature 0.7 --until-end
    """
    from protoglot.generation import GenerationConfig
    from protoglot.generation import generate as generate_texts
    from protoglot.model.config import Conditioning
    from protoglot.trained import load_trained

    chosen = prepare(device, threads)
    trained = load_trained(model_path, device=chosen)
    features = None
    if trained.model.config.conditioning is not Conditioning.BARE:
        if language is None:
            raise click.UsageError(f"{model_path}: a model that reads typology; wanted --language")
        features = trained.features_of(language)
    config = GenerationConfig(
        length=length, start=start, temperature=temperature, top_p=top_p, until_end=until_end
    )
    for text in generate_texts(
        trained.model, trained.vocabulary, features, config, num_samples=samples, seed=seed
    ):
        click.echo(text)
