"""``protoglot adapt``."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from protoglot.cli.computing import SEED, computing_options, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protoglot.adapted import AdaptedModel
    from protoglot.checking import Check
    from protoglot.prior.methods import AdaptationConfig
    from protoglot.prior.universal import UniversalPrior

_MUCH_LIKE = 0.05
_MUCH_TRUST = 0.7
METHODS = ("ninf", "fitu", "univ", "l2-sp", "hier")


@click.command()
@click.argument("text_path", metavar="TEXT", type=click.Path(path_type=Path))
@click.option(
    "--prior",
    "prior_path",
    type=click.Path(path_type=Path),
    help="Directory of a prior [default: the installed one].",
)
@click.option(
    "--language",
    metavar="CODE|FILE.csv",
    help="Language of the text, or a file of its features (see protoglot typology show) [default: unknown].",
)
@click.option("--method", type=click.Choice(METHODS), help="How to learn [default: what won when tuned].")
@click.option("--strength", type=click.FloatRange(0), help="Of the prior; 1 is plain Bayesian updating.")
@click.option("--epochs", type=click.IntRange(0), help="Times that a hundred sentences are read.")
@click.option("--learning-rate", type=float, help="Of Adam.")
@click.option("--dropout", type=float, help="Share of units left out in a step.")
@click.option(
    "--mixture/--no-mixture",
    default=True,
    help="Mix the network with an n-gram of the same text, what learns in context, and similar languages.",
)
@click.option(
    "--check/--no-check",
    default=True,
    help="First hold some sentences out: they say what the model is worth, and how far to trust the prior.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the model [default: TEXT.model].",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of everything that is drawn.")
@computing_options
def adapt(
    text_path: Path,
    prior_path: Path | None,
    language: str | None,
    method: str | None,
    strength: float | None,
    epochs: int | None,
    learning_rate: float | None,
    dropout: float | None,
    mixture: bool,
    check: bool,
    out: Path | None,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Make a language model from a page of sentences.

    TEXT has one sentence a line; - is standard input. Says what it found, holds a fifth of the sentences out (300 at
    most) to see what the model is worth beside a plain n-gram (or deals them into folds, where there are few), and
    then learns from all of them (of more than 15,000, the model that was checked is kept). Where the n-gram does better
    on the sentences held out, the model relies on it.

    \b
    Examples:
      protoglot adapt mine.txt --language eus
      protoglot adapt mine.txt --prior priors/bare2 --method univ --strength 0.01 --no-check
    """
    from dataclasses import replace

    from protoglot.checking import check_folds, is_nearly_all
    from protoglot.cli.output import progress_of_amount
    from protoglot.cli.reading import is_stream, opened_text
    from protoglot.prior.features import features_for
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.shipped import shipped_prior

    if out is None and (is_stream(text_path) or not text_path.name):
        raise click.UsageError(f"TEXT {text_path}: has no name of its own; wanted --out DIRECTORY for the model")
    target = out or text_path.with_name(f"{text_path.name}.model")
    if target.exists():
        raise click.UsageError(f"--out {target}: exists already; wanted a new directory")
    _refuse_closed_place(target)
    with opened_text(text_path) as text:
        sentences = [sentence for _, sentence in text.sentences()]
    chosen_prior = prior_path or shipped_prior()
    prior = UniversalPrior.load(chosen_prior, device=prepare(device, threads))
    settings = _settings(prior, Method(method) if method else None, strength, epochs, learning_rate, dropout, seed)
    features = features_for(prior, language)
    click.echo(describe_text(sentences, prior))
    is_tuned = prior.tuned is not None and settings.method in prior.tuned.methods
    untuned = "" if is_tuned else f", which was not tuned (strength {settings.strength:g})"
    click.echo(f"{features.source}; method {settings.method}{untuned}")
    if features.language in _languages_read(prior):
        click.echo("the prior has read other text in this language: scores are not those of a new one")

    def learn(chosen: "Sequence[str]", label: str) -> "AdaptedModel":
        return _learn(prior, chosen, settings, features.vector, features.language, mixture, label)

    start = time.monotonic()
    folds = check_folds(sentences, seed=seed) if check else []
    found = _report_check(folds, learn, len(sentences)) if folds else None
    if check and found is None:
        click.echo("one sentence: nothing to hold out, so no score")
    model = found.checked if found is not None and is_nearly_all(folds) else None
    num_learned = len(sentences) if model is None else len(folds[0][0])
    if model is None:
        start = time.monotonic()
        model = learn(sentences, "learning")
    _name_neighbours(model, prior)
    provenance = {
        **model.provenance,
        "text": text_path.name,
        "licences": {
            code: prior.mean.languages[code].licence
            for code in prior.mean.fold.training
            if code in prior.mean.languages
        },
        "prior": {"path": str(chosen_prior), "provenance": dict(prior.mean.provenance)},
    }
    with progress_of_amount(1, "saving"):
        replace(model, trust=1.0 if found is None else found.trust, provenance=provenance).save(target)
    click.echo(f"{target}: learned from {num_learned:,} sentences in {time.monotonic() - start:.1f} s")


def _name_neighbours(model: "AdaptedModel", prior: "UniversalPrior") -> None:
    """Say which languages the model leans on."""
    if model.neighbours is None:
        return
    shares = {code: share for code, share in model.neighbours.shares().items() if share >= _MUCH_LIKE}
    if shares:
        names = [
            f"{prior.mean.languages[code].name} ({share:.0%})" if code in prior.mean.languages else code
            for code, share in shares.items()
        ]
        click.echo(f"the n-gram is helped by languages that the prior has read: {', '.join(names)}")


def _refuse_closed_place(target: Path) -> None:
    """Say now, and not after learning, that nothing can be written where the model is to be."""
    place = next((folder for folder in target.absolute().parents if folder.exists()), Path("/"))
    if not os.access(place, os.W_OK | os.X_OK):
        raise click.UsageError(f"--out {target}: nothing can be written in {place}; wanted another place")


def _languages_read(prior: "UniversalPrior") -> set[str]:
    """ISO 639-3 codes of the languages that a prior was trained on."""
    known = prior.mean.languages
    return {known[code].iso639_3 for code in prior.mean.fold.training if code in known}


def describe_text(sentences: "Sequence[str]", prior: "UniversalPrior") -> str:
    """Sentences, characters, scripts, and letters that the prior has never seen."""
    from collections import Counter

    from protoglot.checking import MANY_NEW
    from protoglot.scripts import script_shares

    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    shares = script_shares(counts)
    scripts = ", ".join(f"{script} {share:.0%}" for script, share in list(shares.items())[:3]) or "no letters"
    new = [character for character, _ in counts.most_common() if character not in prior.mean.vocabulary]
    number = sum(counts[character] for character in new)
    unknown = "all characters known to the prior"
    if new:
        shown = " ".join(character if character.isprintable() else ascii(character) for character in new[:20])
        more = " ..." if len(new) > 20 else ""
        unknown = (
            f"{len(new)} characters new to the prior ({number / counts.total():.1%} of the text): {shown}{more}"
        )
    warning = ""
    if number > MANY_NEW * counts.total():
        warning = "\nmuch of this text is in letters that the prior has never seen: it can help only a little"
    return f"{len(sentences):,} sentences, {counts.total():,} characters; script: {scripts}; {unknown}{warning}"


def _settings(
    prior: "UniversalPrior",
    method: "object | None",
    strength: float | None,
    epochs: int | None,
    learning_rate: float | None,
    dropout: float | None,
    seed: int,
) -> "AdaptationConfig":
    from dataclasses import replace

    from protoglot.prior.methods import Method

    if not isinstance(method, Method):
        method = prior.tuned.best if prior.tuned is not None else Method.FITU
    given: dict[str, Any] = {
        "strength": strength,
        "num_epochs": epochs,
        "learning_rate": learning_rate,
        "dropout": dropout,
        "seed": seed,
    }
    return replace(
        prior.settings_for(method), **{name: value for name, value in given.items() if value is not None}
    )


def _learn(
    prior: "UniversalPrior",
    sentences: "Sequence[str]",
    settings: "AdaptationConfig",
    features: "object",
    language: str,
    mixture: bool,
    label: str,
) -> "AdaptedModel":
    from protoglot.adaptation import learn_language
    from protoglot.cli.output import progress_of_amount
    from protoglot.prior.mixer import DEFAULT_MIXING

    with progress_of_amount(1, label) as advance:
        return learn_language(
            prior,
            sentences,
            language=language,
            features=features,  # type: ignore[arg-type]
            config=settings,
            mixing=DEFAULT_MIXING if mixture else None,
            on_progress=advance,
        )


def _report_check(folds: "Sequence[tuple[list[str], list[str]]]", learn: "object", num_sentences: int) -> "Check":
    """Print what held-out sentences cost."""
    from protoglot.checking import check
    from protoglot.cli.output import make_table, print_table

    found = check(lambda chosen: learn(chosen, "checking"), folds)  # type: ignore[operator]
    table = make_table("on held-out sentences", "bits/character", numeric=("bits/character",))
    named = [
        ("model", found.model),
        ("its network alone", found.network),
        ("n-gram of the same text", found.ngram),
    ]
    for name, score in named:
        table.add_row(name, f"{score.bits_per_character:.3f}")
    share = f"a fifth{' or less' if found.num_sentences * 5 < num_sentences - 5 else ''}"
    how = share if len(folds) == 1 else f"{len(folds)} folds in turn"
    ratio = found.model.bits_per_character / found.ngram.bits_per_character
    print_table(
        f"held out {how}: {found.num_sentences:,} sentences, {found.model.num_characters:,} characters",
        table,
        f"the model pays {ratio:.2f} of what the n-gram pays" + _distrust(found.trust),
    )
    return found


def _distrust(trust: float) -> str:
    """Words on how much of the model is the n-gram alone, where it is much."""
    if trust > _MUCH_TRUST:
        return ""
    return f"; the prior helps little here, so {1 - trust:.0%} of the model is the n-gram alone"
