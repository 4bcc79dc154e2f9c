"""``protoglot tune``."""

from pathlib import Path

import click

from protoglot.cli.computing import SEED, computing_options, prepare


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
    order and smoothing of the n-gram, and learns the calibration of zero-shot scores and the weights of network and
    n-gram in mixtures. All of it is stored with the prior. Held-out languages are never looked at.

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
    from protoglot.splits import split_sentences
    from protoglot.tuning import Trials, Tuner, TuningConfig, describe, tuning_identity

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
    texts = {code: split_sentences(corpus.sentences(code)) for code in prior.mean.fold.validation}
    config = TuningConfig(num_trials=trials, num_finalists=finalists, num_sentences=sentences, seed=seed)
    kept = prior_path.with_name(f"{prior_path.name}.trials.jsonl")
    tuner = Tuner(
        prior,
        texts,
        config,
        trials=Trials(kept, tuning_identity(prior, config)),
        on_trial=lambda line: click.echo(line, err=True),
    )
    tuned = tuner.run([Method(name) for name in names])
    target = out or prior_path
    replace(prior, tuned=tuned).save(target)
    for method, chosen in tuned.methods.items():
        click.echo(f"{describe(chosen)}{' (best)' if method is tuned.best else ''}")
    click.echo(f"{target}: tuned on {', '.join(sorted(texts))}")
