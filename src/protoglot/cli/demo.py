"""``protoglot demo``."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from protoglot.cli.computing import computing_options, prepare
from protoglot.cli.output import make_table, print_table, progress_of_amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protoglot.adapted import AdaptedModel
    from protoglot.prior.methods import AdaptationConfig
    from protoglot.prior.universal import UniversalPrior


@click.command()
@click.option(
    "--corpus", "corpus_name", metavar="NAME|PATH", default="eld", show_default=True, help="Text to learn from."
)
@click.option(
    "--languages",
    default="aze,cat,kur,msa,yor",
    show_default=True,
    help="Languages that the prior has never seen.",
)
@click.option("--sentences", type=click.IntRange(1), default=100, show_default=True, help="To learn from.")
@click.option(
    "--prior", "prior_path", type=click.Path(path_type=Path), help="A prior [default: the installed one]."
)
@computing_options
def demo(
    corpus_name: str, languages: str, sentences: int, prior_path: Path | None, device: str, threads: int | None
) -> None:
    """Learn five languages from a hundred sentences each, and show what came of it.

    Adapts the installed prior to sentences of each language, and scores other sentences of the same source: by the
    model, by its network alone, by a network that nothing held near the prior (fine-tuning), and by an n-gram of the
    same sentences. Then shows how surprising the words of one sentence are, and a sentence that the model made up.
    (`protoglot adapt` also holds sentences out, to see how far the model is to be trusted; here there is time for that
    only where most letters are new to the prior.)

    \b
    Examples:
      protoglot demo
      protoglot demo --languages eus,yor --sentences 30
    """
    from protoglot.corpus.opening import open_corpus
    from protoglot.prior.universal import UniversalPrior
    from protoglot.shipped import shipped_prior

    chosen = prepare(device, threads)
    path = prior_path or shipped_prior()
    prior = UniversalPrior.load(path, device=chosen)
    corpus = open_corpus(corpus_name)
    codes = [code.strip() for code in languages.split(",")]
    known = {record.code: record for record in corpus.languages()}
    seen = {prior.mean.languages[code].iso639_3 for code in prior.mean.fold.training}
    for code in codes:
        if code not in known:
            raise click.UsageError(f"--languages {code!r}: not in {corpus.name}; wanted some of its languages")
        if known[code].iso639_3 in seen:
            click.echo(f"{code}: the prior has seen it, so this is no test of a new language", err=True)
    click.echo(
        f"a prior over {len(prior.mean.fold.training)} languages; {sentences} sentences of each new language to learn "
        "from, others to score\n"
    )
    columns = ("n-gram", "fine-tuned", "network", "model", "of n-gram", "seconds")
    table = make_table("code", "language", *columns, numeric=columns, whole=("code",))
    shown = []
    start = time.monotonic()
    ratios = []
    for code in codes:
        learned, tuned, text, seconds = _learn(prior, corpus.sentences(code), known[code].iso639_3, sentences)
        ngram, network, model = learned.ngram_score(text), learned.network_score(text), learned.score(text)
        ratio = model.bits_per_character / ngram.bits_per_character
        ratios.append(ratio)
        cells = [f"{score.bits_per_character:.3f}" for score in (ngram, tuned.network_score(text), network, model)]
        table.add_row(code, known[code].name, *cells, f"{ratio:.3f}", f"{seconds:.0f}")
        shown.append(_show(learned, code, text[0]))
    print_table(
        f"bits per character of text that was not learned from ({corpus.name}, test part)",
        table,
        f"on average the model pays {sum(ratios) / len(ratios):.3f} of what the n-gram pays; "
        f"{time.monotonic() - start:.0f} s in all",
    )
    click.echo("\nbits of each word of a sentence, the end included; and a sentence made up by the model\n")
    for lines in shown:
        click.echo(lines)
    click.echo("Your own text, one sentence a line:  protoglot adapt mine.txt --language CODE")


def _learn(
    prior: "UniversalPrior", sentences: "object", language: str, number: int
) -> "tuple[AdaptedModel, AdaptedModel, tuple[str, ...], float]":
    """The model, a network that was fine-tuned, the text to score, and the seconds that the model took."""
    from dataclasses import replace

    from protoglot.adaptation import learn_language
    from protoglot.checking import MANY_NEW, check, check_folds, share_of_new_characters
    from protoglot.errors import TypologyError
    from protoglot.prior.features import features_for
    from protoglot.prior.methods import Method
    from protoglot.prior.mixer import DEFAULT_MIXING, Mixing
    from protoglot.splits import few_shot_sample, split_sentences

    split = split_sentences(sentences)  # type: ignore[arg-type]
    if not split.test:
        raise click.UsageError(
            f"--languages {language}: {len(split.train)} sentences, none to score; wanted ten or more"
        )
    sample = few_shot_sample(split.train, number, language=language, seed=0)
    try:
        features = features_for(prior, language)
    except TypologyError:
        features = features_for(prior, None)
    folds = check_folds(sample) if share_of_new_characters(sample, prior.mean.vocabulary) > MANY_NEW else []
    with progress_of_amount(2 + len(folds), f"learning {language}") as advance:

        def learn(
            chosen: "Sequence[str]",
            config: "AdaptationConfig | None" = None,
            mixing: "Mixing | None" = DEFAULT_MIXING,
        ) -> "AdaptedModel":
            return learn_language(
                prior,
                chosen,
                language=language,
                features=features.vector,
                config=config,
                mixing=mixing,
                on_progress=advance,
            )

        start = time.monotonic()
        trust = check(learn, folds).trust if folds else 1.0
        model = replace(learn(sample), trust=trust)
        seconds = time.monotonic() - start
        tuned = learn(sample, prior.settings_for(Method.FITU), None)  # whose network alone is shown
    return model, tuned, split.test, seconds


def _show(model: "AdaptedModel", code: str, sentence: str) -> str:
    from protoglot.generation import GenerationConfig, sample
    from protoglot.surprisal import surprisals

    [line] = surprisals(model, [(1, sentence)])
    words = " ".join(f"{word.text}[{word.total_bits:.0f}]" for word in line.words()[:10])
    config = GenerationConfig(length=100, start="", temperature=0.7, until_end=True)
    [made] = sample(model.reader(1), model.vocabulary, config, num_samples=1, seed=0)
    return f"{code}  {words}\n     {made}\n"
