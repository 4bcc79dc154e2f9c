"""``protoglot adapt``."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from protoglot.cli.computing import SEED, check_threads, computing_options, prepare

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from protoglot.prior.methods import AdaptationConfig, Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.reading.reader import Reading

METHODS = ("ninf", "fitu", "univ", "l2-sp", "hier")
_OF_METHODS = ("prior_path", "strength", "epochs", "learning_rate", "dropout", "seed")


@click.command()
@click.argument("text_path", metavar="TEXT", type=click.Path(path_type=Path))
@click.option(
    "--language",
    metavar="CODE|FILE.csv",
    help="Language of the text [default: unknown]. With --method, its typology is looked up; a file holds features.",
)
@click.option("--fast", is_flag=True, help="A reader without the network of letters: quicker, a little worse.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for the model [default: TEXT.model].",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Make a network as in the paper, not a reader; the options below are for this.",
)
@click.option(
    "--prior",
    "prior_path",
    type=click.Path(path_type=Path),
    help="With --method: directory of a prior [default: the installed one].",
)
@click.option(
    "--strength", type=click.FloatRange(0), help="With --method: of the prior; 1 is plain Bayesian updating."
)
@click.option("--epochs", type=click.IntRange(0), help="With --method: times that a hundred sentences are read.")
@click.option("--learning-rate", type=float, help="With --method: of Adam.")
@click.option("--dropout", type=float, help="With --method: share of units left out in a step.")
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="With --method: of everything that is drawn."
)
@computing_options
@click.pass_context
def adapt(
    context: click.Context,
    text_path: Path,
    language: str | None,
    fast: bool,
    out: Path | None,
    method: str | None,
    prior_path: Path | None,
    strength: float | None,
    epochs: int | None,
    learning_rate: float | None,
    dropout: float | None,
    seed: int,
    device: str,
    threads: int | None,
) -> None:
    """Make a language model from a page of sentences.

    TEXT has one sentence a line; - is standard input. The model is a reader: it reads the sentences once, predicts each
    character from those before it, and learns from each. The bits per character that are printed are the log loss of
    these predictions, so no sentence need be held out; `protoglot info` shows them again.

    A warning comes if the text has fewer than five lines, markup (HTML, XML, standard format), or a word on each line
    rather than a sentence, and if its words are those of a language far from the one that --language names.

    With --method, the model is a network as in the paper, adapted from a universal prior.

    \b
    Examples:
      protoglot adapt mine.txt --language eus
      protoglot adapt mine.txt --fast --out quick.model
      protoglot adapt mine.txt --method univ --prior priors/bare2 --strength 0.01
    """
    from protoglot.cli.reading import is_stream, opened_text

    if method is None:
        _refuse_options_of_methods(context)
    elif fast:
        raise click.UsageError(f"--fast: found with --method {method}; wanted one of the two")
    if out is None and (is_stream(text_path) or not text_path.name):
        raise click.UsageError(f"TEXT {text_path}: has no name of its own; wanted --out DIRECTORY for the model")
    target = out or text_path.with_name(f"{text_path.name}.model")
    if os.path.lexists(target):  # as Model.save does
        raise click.UsageError(f"--out {target}: exists already; wanted a new directory")
    _refuse_closed_place(target)
    check_threads(threads)
    with opened_text(text_path) as text:
        sentences = [sentence for _, sentence in text.sentences()]
    if method is None:
        _make_reader(sentences, language, fast, text_path.name, target)
        return
    from protoglot.prior.methods import Method
    from protoglot.prior.universal import UniversalPrior
    from protoglot.shipped import shipped_prior

    chosen_prior = prior_path or shipped_prior()
    prior = UniversalPrior.load(chosen_prior, device=prepare(device, threads))
    settings = _settings(prior, Method(method), strength, epochs, learning_rate, dropout, seed)
    _adapt_network(prior, chosen_prior, sentences, language, settings, text_path.name, target)


def _refuse_options_of_methods(context: click.Context) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _OF_METHODS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[0]} {context.params[name]}: concerns networks; wanted --method as well"
            )


def _make_reader(
    sentences: "Sequence[str]", language: str | None, fast: bool, text_name: str, target: Path
) -> None:
    """Read the sentences, say how well they were predicted, and save the reader."""
    import protoglot
    from protoglot.cli.output import progress_of_amount
    from protoglot.page_doubts import doubt_about_language, doubts_about
    from protoglot.reader_model import read_page

    start = time.monotonic()
    reader = protoglot.load_prior().reader(language=language, fast=fast)
    click.echo(describe_text(sentences, frozenset(reader.scorer.first.characters), "other languages"))
    doubt = doubt_about_language(sentences, reader.language, reader.scorer.lexicons)
    _warn([*doubts_about(sentences), *([] if doubt is None else [doubt])])
    provenance = {"text": text_name, "num_sentences": len(sentences)}
    with progress_of_amount(1, "reading") as advance:
        model, reading = read_page(reader, sentences, provenance, on_progress=advance)
    click.echo(describe_reading(reading))
    with progress_of_amount(1, "saving"):
        model.save(target)
    click.echo(f"{target}: has read {len(sentences):,} sentences in {time.monotonic() - start:.1f} s")


def _warn(doubts: "Sequence[str]") -> None:
    for doubt in doubts:
        click.echo(f"protoglot: warning: {doubt}", err=True)


def describe_reading(reading: "Reading") -> str:
    """Bits per character of a page that was read from nothing, and of its first and last quarter."""
    from protoglot.reader_model import quarter_of

    quarter = quarter_of(reading)
    return (
        f"{reading.bits_per_character:.3f} bits/character, each predicted from those before it "
        f"(first quarter {reading.bits[:quarter].mean():.3f}, last quarter {reading.bits[-quarter:].mean():.3f})"
    )


def _adapt_network(
    prior: "UniversalPrior",
    prior_path: Path,
    sentences: "Sequence[str]",
    language: str | None,
    settings: "AdaptationConfig",
    text_name: str,
    target: Path,
) -> None:
    """Adapt the paper's network, and save it."""
    from dataclasses import replace

    from protoglot.adaptation import learn_language
    from protoglot.cli.output import progress_of_amount
    from protoglot.page_doubts import doubts_about
    from protoglot.prior.features import features_for

    features = features_for(prior, language)
    click.echo(describe_text(sentences, prior.mean.vocabulary, "the prior"))
    _warn(list(doubts_about(sentences)))
    is_tuned = prior.tuned is not None and settings.method in prior.tuned.methods
    untuned = "" if is_tuned else f", which was not tuned (strength {settings.strength:g})"
    click.echo(f"{features.source}; method {settings.method}{untuned}")
    if features.language in _languages_read(prior):
        click.echo("the prior has read other text in this language: scores are not those of a new one")
    start = time.monotonic()
    with progress_of_amount(1, "adapting") as advance:
        model = learn_language(
            prior,
            sentences,
            language=features.language,
            features=features.vector,
            config=settings,
            on_progress=advance,
        )
    provenance = {
        **model.provenance,
        "text": text_name,
        "licences": {
            code: prior.mean.languages[code].licence
            for code in prior.mean.fold.training
            if code in prior.mean.languages
        },
        "prior": {"path": str(prior_path), "provenance": dict(prior.mean.provenance)},
    }
    with progress_of_amount(1, "saving"):
        replace(model, provenance=provenance).save(target)
    click.echo(f"{target}: learned from {len(sentences):,} sentences in {time.monotonic() - start:.1f} s")


def _refuse_closed_place(target: Path) -> None:
    """Say now, and not after learning, that nothing can be written where the model is to be."""
    place = next((folder for folder in target.absolute().parents if folder.exists()), Path("/"))
    if not os.access(place, os.W_OK | os.X_OK):
        raise click.UsageError(f"--out {target}: nothing can be written in {place}; wanted another place")


def _languages_read(prior: "UniversalPrior") -> set[str]:
    """ISO 639-3 codes of the languages that a prior was trained on."""
    known = prior.mean.languages
    return {known[code].iso639_3 for code in prior.mean.fold.training if code in known}


def describe_text(sentences: "Sequence[str]", known: "Container[str]", knower: str) -> str:
    """Sentences, characters, scripts, and letters that are new.

    Args:
        sentences: of the text.
        known: characters that are not new.
        knower: what they are known to, in words.
    """
    from collections import Counter

    from protoglot.scripts import script_shares

    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(sentence)
    shares = script_shares(counts)
    scripts = ", ".join(f"{script} {share:.0%}" for script, share in list(shares.items())[:3]) or "no letters"
    new = [character for character, _ in counts.most_common() if character not in known]
    number = sum(counts[character] for character in new)
    unknown = f"all characters known to {knower}"
    if new:
        shown = " ".join(character if character.isprintable() else ascii(character) for character in new[:20])
        more = " ..." if len(new) > 20 else ""
        noun = "character" if len(new) == 1 else "characters"
        unknown = f"{len(new)} {noun} new to {knower} ({number / counts.total():.1%} of the text): {shown}{more}"
    return f"{len(sentences):,} sentences, {counts.total():,} characters; script: {scripts}; {unknown}"


def _settings(
    prior: "UniversalPrior",
    method: "Method",
    strength: float | None,
    epochs: int | None,
    learning_rate: float | None,
    dropout: float | None,
    seed: int,
) -> "AdaptationConfig":
    from dataclasses import replace

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
