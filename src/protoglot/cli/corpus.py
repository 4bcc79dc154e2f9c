"""``protoglot corpus``: list, stats, show, fetch, import."""

import shlex
from itertools import islice
from pathlib import Path

import click

from protoglot.cli.corpus_fetch import fetch
from protoglot.cli.output import (
    Command,
    Row,
    format_option,
    make_table,
    out_option,
    print_rows,
    print_table,
    progress_over,
    write_rows,
)
from protoglot.corpus.interface import Corpus, LanguageRecord

DEFAULT_CORPUS = "eld"
_MOST_FREQUENT = 12
_MOST_FREQUENT_SHOWN = 6  # in a table


@click.group()
def corpus() -> None:
    """Text in many languages: what there is, how much, and in what form.

    A corpus is named by --corpus: eld (sentences installed with protoglot, the default), udhr (Universal
    Declaration of Human Rights, extra protoglot[udhr]), or a path to a folder of <code>.txt files, a
    copy of christos-c/bible-corpus or of BibleNLP/ebible.
    """


corpus.add_command(fetch)


def corpus_options(command: Command) -> Command:
    """Add ``--corpus``, ``--languages`` and ``--script``, which say what text a command reads."""
    option = click.option(
        "--corpus",
        "corpus_name",
        metavar="NAME|PATH",
        default=DEFAULT_CORPUS,
        show_default=True,
        help="eld, udhr, a path, or kind:PATH (folder, christos, ebible).",
    )
    return option(_selection_options(command))


def corpus_options_of_a_model(command: Command) -> Command:
    """The same options for a command that has a model, whose corpus is the default."""
    option = click.option(
        "--corpus",
        "corpus_name",
        metavar="NAME|PATH",
        help="eld, udhr, a path, or kind:PATH (folder, christos, ebible) [default: what the model was trained on].",
    )
    return option(_selection_options(command))


def _selection_options(command: Command) -> Command:
    for option in (
        click.option("--script", metavar="NAME", help="Only languages in this script, such as Latin."),
        click.option("--languages", metavar="CODES", help="Only these languages: codes joined by commas."),
    ):
        command = option(command)
    return command


def open_selected(corpus_name: str, languages: str | None, script: str | None) -> Corpus:
    """The corpus that the options of :func:`corpus_options` ask for."""
    from protoglot.corpus.opening import open_corpus
    from protoglot.corpus.selection import select_languages, select_script

    opened = open_corpus(corpus_name)
    if languages is not None:
        codes = [code.strip() for code in languages.split(",") if code.strip()]
        if not codes:
            raise click.UsageError(f"--languages {languages!r}; wanted codes joined by commas, as in eus,fra")
        opened = select_languages(opened, codes)
    if script is not None:
        opened = select_script(opened, script)
    return opened


@corpus.command("list")
@corpus_options
@format_option
@click.pass_context
def list_languages(
    context: click.Context, corpus_name: str, languages: str | None, script: str | None, form: str
) -> None:
    """List the languages of a corpus; without options, the kinds of corpora.

    \b
    Examples:
      protoglot corpus list
      protoglot corpus list --corpus eld
      protoglot corpus list --corpus ~/bible77 --format csv
    """
    given = (context.get_parameter_source(name) for name in ("corpus_name", "languages", "script", "form"))
    if all(source is click.core.ParameterSource.DEFAULT for source in given):
        _list_kinds()
        return
    records = open_selected(corpus_name, languages, script).languages()
    rows = [_record_row(record) for record in records]
    if form != "table":
        print_rows(rows, form)
        return
    table = make_table(*rows[0], whole=("code", "iso639_3"))
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    print_table(f"{corpus_name}: {_counted(len(rows), 'language')}", table)


@corpus.command()
@corpus_options
@out_option
@format_option
def stats(corpus_name: str, languages: str | None, script: str | None, out: Path | None, form: str) -> None:
    """Measure each language: sentences, characters, scripts, typological coverage.

    "distinct" counts different characters; "repeated", shown where there are some, counts sentences that stand in
    the text before; "common" are the most frequent characters; "typology" is the share of the 245 typological
    features that are observed, the rest being imputed.

    \b
    Examples:
      protoglot corpus stats
      protoglot corpus stats --corpus ~/bible77 --out bible77.csv
      protoglot corpus stats --languages eus,fra --format json
    """
    opened = open_selected(corpus_name, languages, script)
    rows = []
    with progress_over(len(opened.languages()), "measuring") as step:
        for record in opened.languages():
            step(record.code)
            rows.append(_statistics_row(opened, record))
    if out is not None:
        write_rows(out, rows)
    if form != "table":
        print_rows(rows, form)
        return
    _print_statistics(opened.name, rows)


@corpus.command()
@click.argument("language")
@corpus_options
@click.option("--number", type=click.IntRange(1), default=5, show_default=True, help="How many sentences.")
@click.option(
    "--part",
    type=click.Choice(["all", "train", "development", "test"]),
    default="all",
    show_default=True,
    help="Only sentences of this part of the 80/10/10 split.",
)
@click.option(
    "--sample", is_flag=True, help="The few-shot sample of --number sentences, drawn from the training part."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
def show(
    language: str,
    corpus_name: str,
    languages: str | None,
    script: str | None,
    number: int,
    part: str,
    sample: bool,
    seed: int,
) -> None:
    """Print sentences of a language.

    \b
    Examples:
      protoglot corpus show eus
      protoglot corpus show eus --part test --number 20
      protoglot corpus show eus --sample --number 100 --seed 1
    """
    from protoglot.splits import few_shot_sample, split_sentences

    opened = open_selected(corpus_name, languages, script)
    sentences = opened.sentences(language)
    if part == "all" and not sample:
        for sentence in islice(sentences, number):
            click.echo(sentence)
        return
    if sample and part not in ("all", "train"):
        raise click.UsageError(f"--sample draws from the training part; found --part {part}")
    split = split_sentences(sentences)
    if sample:  # noqa: SIM108 - one line would be too long
        chosen = few_shot_sample(split.train, number, language=language, seed=seed)
    else:
        chosen = split.part(part)[:number]  # type: ignore[arg-type]  # a choice of --part, not "all"
    for sentence in chosen:
        click.echo(sentence)
    click.echo(
        f"{language}: {len(split.train):,} train, {len(split.development):,} development, "
        f"{len(split.test):,} test; {split.num_duplicates:,} repeated sentences left out",
        err=True,
    )


@corpus.command("import")
@corpus_options
@click.option(
    "--to", "destination", type=click.Path(path_type=Path), required=True, help="Folder to make; must not exist."
)
@click.option(
    "--paper", is_flag=True, help="Only the languages of the paper's partitions, one text each, under its codes."
)
def import_(corpus_name: str, languages: str | None, script: str | None, destination: Path, paper: bool) -> None:
    """Turn any corpus into a folder of <code>.txt files with a manifest.

    \b
    Examples:
      protoglot corpus import --corpus eld --script Latin --to latin-sentences
      protoglot corpus import --corpus christos:bible-corpus --to bibles
      protoglot corpus import --corpus christos:bible-corpus --paper --to bible77
    """
    from protoglot.corpus.importing import import_corpus
    from protoglot.corpus.selection import select_by_iso
    from protoglot.folds import paper_languages

    opened = open_selected(corpus_name, languages, script)
    if paper:
        wanted = paper_languages()
        opened = select_by_iso(opened, wanted)
        missing = sorted(set(wanted) - {record.code for record in opened.languages()})
        if missing:
            click.echo(f"not in {opened.name}: {', '.join(missing)}", err=True)
    with progress_over(len(opened.languages()), "importing") as step:
        number = import_corpus(opened, destination, on_language=step)
    click.echo(f"{destination}: {_counted(number, 'language')}")
    click.echo(f"Next: protoglot corpus stats --corpus {shlex.quote(str(destination))}")


def _list_kinds() -> None:
    from protoglot.corpus.opening import INSTALLED, ON_DISK

    table = make_table("--corpus", "what it reads", whole=("--corpus",))
    for name, text in INSTALLED.items():
        table.add_row(name, text)
    for kind, text in ON_DISK.items():
        table.add_row(f"{kind}:PATH", text)
    table.add_row("PATH", "any of these three, recognised by its files")
    print_table("Corpora", table, "Languages of one of them: protoglot corpus list --corpus eld")


def _record_row(record: LanguageRecord) -> Row:
    return {
        "code": record.code,
        "iso639_3": record.iso639_3,
        "language": record.name,
        "family": record.family,
        "licence": record.licence,
        "source": record.source,
    }


def _statistics_row(opened: Corpus, record: LanguageRecord) -> Row:
    from protoglot.corpus.measuring import measure

    measured = measure(opened, record.code)
    return {
        "code": record.code,
        "iso639_3": record.iso639_3,
        "language": record.name,
        "family": record.family,
        "sentences": measured.num_sentences,
        "repeated_sentences": measured.num_duplicates,
        "characters": measured.num_characters,
        "distinct_characters": measured.num_distinct_characters,
        "script_shares": {script: round(share, 4) for script, share in measured.script_shares.items()},
        "most_frequent": measured.most_frequent(_MOST_FREQUENT),
        "typology_observed": _observed_share(record.iso639_3),
        "licence": record.licence,
        "source": record.source,
    }


def _observed_share(iso639_3: str) -> float | None:
    """Share of a language's typological features that are observed; ``None`` if the database does not know it."""
    from protoglot.typology import Typology

    typology = Typology.installed()
    if not typology.knows(iso639_3):
        return None
    return round(float(typology.observed(iso639_3).mean()), 4)


def _print_statistics(name: str, rows: list[Row]) -> None:
    num_sentences = sum(int(str(row["sentences"])) for row in rows)
    num_characters = sum(int(str(row["characters"])) for row in rows)
    # A column of noughts is left out, which lets the others fit a screen of 80 columns.
    with_repeated = any(row["repeated_sentences"] for row in rows)
    counts = ("sentences", *(("repeated",) if with_repeated else ()), "characters", "distinct")
    table = make_table(
        *("code", "language", *counts, "script", "common", "typology"),
        numeric=(*counts, "typology"),
        whole=("code", "script", "common"),
    )
    for row in rows:
        table.add_row(
            str(row["code"]),
            str(row["language"]),
            f"{row['sentences']:,}",
            *([f"{row['repeated_sentences']:,}"] if with_repeated else []),
            f"{row['characters']:,}",
            f"{row['distinct_characters']:,}",
            _main_script(row["script_shares"]),
            str(row["most_frequent"])[:_MOST_FREQUENT_SHOWN],
            "none" if row["typology_observed"] is None else f"{row['typology_observed']:.0%}",
        )
    languages, sentences = _counted(len(rows), "language"), _counted(num_sentences, "sentence")
    print_table(f"{name}: {languages}, {sentences}, {num_characters:,} characters", table)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _main_script(shares: object) -> str:
    if not isinstance(shares, dict) or not shares:
        return "none"
    script, share = next(iter(shares.items()))
    return script if share >= 0.995 else f"{script} {share:.0%}"
