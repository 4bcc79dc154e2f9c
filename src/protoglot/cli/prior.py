"""``protoglot prior``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare
from protoglot.cli.main import EXIT_INTERRUPTED
from protoglot.cli.output import progress_of_amount

if TYPE_CHECKING:
    from protoglot.corpus.interface import Corpus
    from protoglot.prior.laplace import FisherConfig
    from protoglot.trained import TrainedModel


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", help="The corpus of the run [default: as it was named]."
)
@click.option(
    "--sequences",
    metavar="NUMBER|all",
    default="200",
    show_default=True,
    help="Sequences of each training language to measure.",
)
@click.option(
    "--spread/--no-spread",
    default=True,
    help="Measure also how far weights move from language to language, which the method hier needs.",
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the prior."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the draw of sequences.")
@computing_options
def prior(
    run: Path,
    corpus_name: str | None,
    sequences: str,
    spread: bool,
    out: Path,
    seed: int,
    device: str,
    threads: int | None,
) -> int:
    """Turn a trained model into a universal prior over weights.

    Measures the Fisher information of every weight on the training text of the run: the mean over languages, and
    within a language over its sequences, of the squared gradient of one sequence's log-likelihood. Then lets the
    model settle on one training language at a time, to see how far each weight moves. Ctrl-C keeps the languages
    that are done; the same command goes on. Next: protoglot tune.

    \b
    Examples:
      protoglot prior runs/bare2 --out priors/bare2
      protoglot prior runs/bare2 --sequences all --out priors/bare2-all
    """
    from protoglot.corpus.opening import open_corpus
    from protoglot.prior.laplace import FisherConfig
    from protoglot.trained import load_trained

    if sequences != "all" and not sequences.isdecimal():
        raise click.UsageError(f"--sequences {sequences!r}; wanted a whole number from 1, or all")
    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    chosen = prepare(device, threads)
    trained = load_trained(run, device=chosen)
    config = FisherConfig(max_sequences=None if sequences == "all" else int(sequences), seed=seed)
    corpus = open_corpus(corpus_name or str(trained.provenance["corpus"]))
    if not measure_prior(trained, corpus, config, out, with_spread=spread):
        unfinished = out.with_name(f"{out.name}.unfinished")
        click.echo(f"{unfinished}: what is done so far. Go on with the same command.")
        return EXIT_INTERRUPTED
    return 0


def measure_prior(
    trained: "TrainedModel", corpus: "Corpus", config: "FisherConfig", out: Path, *, with_spread: bool
) -> bool:
    """Measure a trained model on its training text and save the prior, or go on; Ctrl-C stops after a language.

    Args:
        trained: the model.
        corpus: its text.
        config: which sequences to measure.
        out: directory of the prior; what is done is kept beside it.
        with_spread: measure also how far weights move from language to language.

    Returns:
        Whether it is finished.
    """
    import shutil
    from dataclasses import replace

    from protoglot.cli.stopping import stop_on_signals
    from protoglot.prior.laplace import choose_sequences, infer_prior, training_streams
    from protoglot.prior.spread import SpreadConfig, measure_spread

    streams = training_streams(corpus, trained)
    total = sum(len(choose_sequences(stream, language, config)) for language, stream in streams.items())
    unfinished = out.with_name(f"{out.name}.unfinished")
    unfinished_spread = out.with_name(f"{out.name}.unfinished-spread")
    with stop_on_signals(lambda: click.echo("stopping after this language ...", err=True)) as stop_asked:
        with progress_of_amount(total, "measuring") as advance:
            found = infer_prior(
                trained, streams, config, unfinished=unfinished, on_sequences=advance, stop_asked=stop_asked
            )
        if found is not None and with_spread:
            with progress_of_amount(len(streams), "settling on languages") as advance:
                variances = measure_spread(
                    trained,
                    streams,
                    SpreadConfig(seed=config.seed),
                    unfinished=unfinished_spread,
                    on_languages=advance,
                    stop_asked=stop_asked,
                )
            found = None if variances is None else replace(found, spread=variances)
    if found is None:
        return False
    found.save(out)
    for leftover in (unfinished, unfinished_spread):
        shutil.rmtree(leftover, ignore_errors=True)
    click.echo(
        f"{out}: a prior over {sum(weight.numel() for weight in trained.model.parameters()):,} weights, from "
        f"{sum(found.num_sequences.values()):,} sequences of {len(found.num_sequences)} languages"
    )
    return True
