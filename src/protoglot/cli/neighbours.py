"""``protoglot neighbours``."""

from pathlib import Path

import click

from protoglot.cli.output import progress_of_amount


@click.command()
@click.argument("prior_path", metavar="PRIOR", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", help="The corpus of the prior [default: as it was named]."
)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Directory of the new prior."
)
def neighbours(prior_path: Path, corpus_name: str | None, out: Path) -> None:
    """Count the training languages, and add their n-grams to a prior.

    A new language may be like one that the prior has read, as Xhosa is like Zulu. The n-grams of all training languages
    are kept with the prior, in about 300 kilobytes each; adapt compares them with the new sentences, and
    what the most similar ones predict becomes a part of the model. Next: protoglot tune, which learns how far to
    trust it.

    \b
    Examples:
      protoglot neighbours priors/bare2 --corpus ~/bible77 --out priors/bare2-counted
    """
    from dataclasses import replace

    from protoglot.corpus.opening import open_corpus
    from protoglot.folds import FoldText
    from protoglot.neighbours.library import Library
    from protoglot.neighbours.packed import MAX_SYMBOLS
    from protoglot.prior.universal import UniversalPrior

    if out.exists():
        raise click.UsageError(f"--out {out}: exists already; wanted a new directory")
    prior = UniversalPrior.load(prior_path)
    corpus = open_corpus(corpus_name or str(prior.mean.provenance["corpus"]))
    fold = prior.mean.fold
    with progress_of_amount(len(fold.training), "counting") as advance:
        library = Library.count(
            FoldText(corpus, fold).training(), prior.mean.vocabulary, on_language=lambda code: advance(1)
        )
    replace(prior, library=library, tuned=None).save(out)
    size = sum(array.nbytes for array in library.parts().values())
    left_out = sorted(set(fold.training) - set(library.ngrams))
    if left_out:
        click.echo(f"left out, for they have more than {MAX_SYMBOLS} different characters: {', '.join(left_out)}")
    click.echo(f"{out}: n-grams of {len(library.ngrams)} languages, {size / 1e6:.1f} MB; to be tuned next")
