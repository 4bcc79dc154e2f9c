"""``protoglot tune``."""

from pathlib import Path

import click

from protoglot.cli.computing import SEED, Command, computing_options, prepare


def also_options(command: Command) -> Command:
    """Add ``--also``, ``--also-languages`` and ``--also-without`` to a command: further languages for mixers."""
    for option in (
        click.option(
            "--also-without",
            metavar="CODES",
            default="none",
            show_default=True,
            help="Languages of that corpus not to look at, such as those to be scored later.",
        ),
        click.option(
            "--also-languages",
            type=click.IntRange(1),
            default=24,
            show_default=True,
            help="How many, at most, of those that the prior has not read.",
        ),
        click.option(
            "--also", metavar="NAME|PATH", help="Another corpus, of whose languages the mixers learn too."
        ),
    ):
        command = option(command)
    return command


def check_also(also: str | None, also_without: str) -> None:
    """Refuse languages to leave out of no corpus: who names them wants them left out of one."""
    if also is None and also_without != "none":
        raise click.UsageError(f"--also-without {also_without}: of no corpus; wanted --also")


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
@also_options
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
    also: str | None,
    also_languages: int,
    also_without: str,
    out: Path | None,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Choose how a prior adapts, on its validation languages.

    Searches learning rate, epochs, dropout and strength of each method with the same number of trials, chooses the
    order and smoothing of the n-gram (a prior that was taught keeps those it was taught with), learns the mixers of
    all components, and the calibration of zero-shot scores. All of it is stored with the prior, and used by adapt.
    Held-out languages are never looked at.

    Mixers know of no language, so languages of another corpus can teach them, too: --also names one to draw some
    from. Languages of the prior's own corpus are not drawn, whatever their role there. Name those that are to be scored
    later in --also-without.

    Trials are kept beside the prior (PRIOR.trials.jsonl): after Ctrl-C, the same command goes on.

    \b
    Examples:
      protoglot tune priors/bare2 --corpus ~/bible77
      protoglot tune priors/bare2 --corpus ~/bible77 --methods fitu,univ --trials 5
      protoglot tune priors/bare2 --corpus ~/bible77 --also udhr --also-without cym,hau
    """
    from dataclasses import replace

    from protoglot.corpus.opening import open_corpus
    from protoglot.languages import codes_for
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.splits import split_sentences
    from protoglot.strangers import find_strangers
    from protoglot.tuning import Trials, Tuner, TuningConfig, describe, tuning_identity

    check_also(also, also_without)
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
    others = []
    if also is not None:
        left_out = [] if also_without == "none" else [code.strip() for code in also_without.split(",")]
        other_corpus = open_corpus(also)
        others = find_strangers(prior, other_corpus, also_languages, leave_out=left_out, seed=seed)
        if not others:
            raise click.UsageError(f"--also {also}: no language that the prior has not read; wanted some")
        click.echo(f"mixers: also of {', '.join(other.code for other in others)}", err=True)
        present = {code for record in other_corpus.languages() for code in (record.code, record.iso639_3)}
        unknown = [code for code in left_out if present.isdisjoint(codes_for(code))]
        if unknown:
            click.echo(f"--also-without {','.join(unknown)}: not in {also}", err=True)
    kept = prior_path.with_name(f"{prior_path.name}.trials.jsonl")
    tuner = Tuner(
        prior,
        texts,
        config,
        trials=Trials(kept, tuning_identity(prior, config)),
        strangers=others,
        on_trial=lambda line: click.echo(line, err=True),
    )
    tuned = tuner.run([Method(name) for name in names])
    target = out or prior_path
    replace(prior, tuned=tuned).save(target)
    for method, chosen in tuned.methods.items():
        click.echo(f"{describe(chosen)}{' (best)' if method is tuned.best else ''}")
    more = f", mixers also on {len(others)} languages of {also}" if others else ""
    click.echo(f"{target}: tuned on {', '.join(sorted(texts))}{more}")
