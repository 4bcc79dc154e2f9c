"""``protoglot tune``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import SEED, computing_options, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protoglot.corpus.interface import Corpus
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import Tuned, UniversalPrior
    from protoglot.tuning import TuningConfig


@click.command()
@click.argument("prior_path", metavar="PRIOR", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", help="The corpus of the prior [default: as it was named]."
)
@click.option(
    "--methods", default="all", show_default=True, help="Methods to search, such as fitu,univ, or all of them."
)
@click.option(
    "--trials", type=click.IntRange(1, 7), default=7, show_default=True, help="Settings to try for each method."
)
@click.option(
    "--finalists",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Of those, settings that meet on all validation languages; trials are scored on two.",
)
@click.option(
    "--sentences", type=click.IntRange(1), default=100, show_default=True, help="Sentences to learn from."
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="New prior [default: PRIOR itself].")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the samples of sentences.")
@computing_options
def tune(
    prior_path: Path,
    corpus_name: str | None,
    methods: str,
    trials: int,
    finalists: int,
    sentences: int,
    out: Path | None,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Choose how a prior adapts, on its validation languages.

    Searches learning rate, epochs, dropout and strength of each method with the same number of trials, chooses the
    order and smoothing of the n-gram, and fits the calibration of zero-shot scores. All of it is stored with the
    prior. Held-out languages are never looked at.

    Trials are kept beside the prior (PRIOR.trials.jsonl): after Ctrl-C, the same command goes on.

    \b
    Examples:
      protoglot tune priors/bare2 --corpus ~/bible77
      protoglot tune priors/bare2 --corpus ~/bible77 --methods fitu,univ --trials 5
    """
    from dataclasses import replace

    from protoglot.corpus.opening import open_corpus
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.tuning import TuningConfig, describe

    known = [str(method) for method in Method]
    names = known if methods == "all" else [name.strip() for name in methods.split(",")]
    for name in names:
        if name not in known:
            raise click.UsageError(f"--methods {name!r}; wanted some of {', '.join(known)}, or all")
    if out is not None and out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    if prior_path.name in ("", ".."):
        prior_path = prior_path.resolve()
    prior = UniversalPrior.load(prior_path, device=prepare(device, threads))
    if prior.spread is None and methods == "all":
        names.remove(str(Method.HIER))
    corpus = open_corpus(corpus_name or str(prior.mean.provenance["corpus"]))
    config = TuningConfig(num_trials=trials, num_finalists=finalists, num_sentences=sentences, seed=seed)
    kept = prior_path.with_name(f"{prior_path.name}.trials.jsonl")
    tuned = tune_prior(prior, corpus, [Method(name) for name in names], config, kept)
    target = out or prior_path
    replace(prior, tuned=tuned).save(target)
    for method, chosen in tuned.methods.items():
        click.echo(f"{describe(chosen)}{' (best)' if method is tuned.best else ''}")
    click.echo(f"{target}: tuned on {', '.join(sorted(prior.mean.fold.validation))}")


def tune_prior(
    prior: "UniversalPrior", corpus: "Corpus", methods: "Sequence[Method]", config: "TuningConfig", trials: Path
) -> "Tuned":
    """Choose settings on the validation languages of a prior, and tell of every trial.

    Args:
        prior: left as it was.
        corpus: its text.
        methods: to search.
        config: settings of the search.
        trials: file that keeps their scores, so that none is run twice.
    """
    from protoglot.splits import split_sentences
    from protoglot.tuning import Trials, Tuner, tuning_identity

    tuner = Tuner(
        prior,
        {code: split_sentences(corpus.sentences(code)) for code in prior.mean.fold.validation},
        config,
        trials=Trials(trials, tuning_identity(prior, config)),
        on_trial=lambda line: click.echo(line, err=True),
    )
    return tuner.run(methods)
