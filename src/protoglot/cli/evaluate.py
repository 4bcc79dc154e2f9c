"""``protoglot evaluate``."""

import time
from pathlib import Path

import click

from protoglot.cli.computing import computing_options, prepare
from protoglot.cli.corpus import DEFAULT_CORPUS, corpus_options_of_a_model, open_selected
from protoglot.cli.output import (
    Row,
    format_option,
    make_table,
    out_option,
    print_rows,
    print_table,
    progress_of_amount,
    write_rows,
)


@click.command()
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@corpus_options_of_a_model
@click.option(
    "--part",
    type=click.Choice(["train", "development", "test"]),
    default="test",
    show_default=True,
    help="Part of the 80/10/10 split to score.",
)
@click.option(
    "--roles",
    default="training,validation,held_out",
    show_default=True,
    help="Which languages, by their role in training.",
)
@out_option
@computing_options
@format_option
def evaluate(
    model_path: Path,
    corpus_name: str | None,
    languages: str | None,
    script: str | None,
    part: str,
    roles: str,
    out: Path | None,
    device: str,
    threads: int | None,
    form: str,
) -> None:
    """Bits per character of a model on each language of a corpus.

    MODEL is the directory of a run or of a model. Each language's text is read as one stream whose state is never
    reset; every character and end of sentence counts once. Held-out languages are scored zero-shot.

    \b
    Examples:
      protoglot evaluate runs/bare2 --corpus ~/bible77
      protoglot evaluate runs/bare2 --corpus ~/bible77 --roles held_out --out zero-shot.csv
    """
    from protoglot.errors import CorpusError
    from protoglot.evaluation import evaluate as evaluate_texts
    from protoglot.evaluation import make_scored_text
    from protoglot.splits import split_sentences
    from protoglot.trained import load_trained

    wanted = [role.strip() for role in roles.split(",")]
    known = ("training", "validation", "held_out")
    for role in wanted:
        if role not in known:
            raise click.UsageError(f"role {role!r}; wanted some of {', '.join(known)}")
    chosen = prepare(device, threads)
    trained = load_trained(model_path, device=chosen)
    named = corpus_name or str(trained.provenance.get("corpus", DEFAULT_CORPUS))
    opened = open_selected(named, languages, script)
    present = {record.code for record in opened.languages()}
    role_of = {code: role for role in wanted for code in getattr(trained.fold, role) if code in present}
    if not role_of:
        raise click.UsageError(f"corpus {opened.name} has no language of the model with role {roles}")
    texts, splits = {}, {}
    for code in role_of:
        splits[code] = split_sentences(opened.sentences(code)).part(part)  # type: ignore[arg-type]
        if splits[code]:
            texts[code] = make_scored_text(splits[code], trained.vocabulary, trained.features_of(code))
    if not texts:
        raise CorpusError(
            f"corpus {opened.name}: no {part} text in {len(role_of)} languages; wanted ten sentences"
        )
    start = time.monotonic()
    total = sum(len(text.stream) - 1 for text in texts.values())
    with progress_of_amount(total, "scoring") as advance:
        scores = evaluate_texts(trained.model, texts, on_progress=advance)
    seconds = time.monotonic() - start
    rows: list[Row] = [
        {
            "code": code,
            "language": trained.languages[code].name,
            "role": role_of[code],
            "part": part,
            "conditioning": str(trained.model.config.conditioning),
            "bits_per_character": scores[code].bits_per_character,
            "nats": scores[code].nats,
            "characters": scores[code].num_characters,
            "sentences": len(splits[code]),
            "unknown_characters": sum(
                len(trained.vocabulary.encode(sentence).others) for sentence in splits[code]
            ),
        }
        for code in sorted(scores)
    ]
    if out is not None:
        write_rows(out, rows)
    if form != "table":
        print_rows(rows, form)
        return
    _print_scores(rows, f"{model_path} on {part} text of {opened.name}", seconds)


def _print_scores(rows: list[Row], title: str, seconds: float) -> None:
    counts = ("bits/character", "characters", "unknown")
    table = make_table("code", "language", "role", *counts, numeric=counts, whole=("code",))
    for row in rows:
        table.add_row(
            str(row["code"]),
            str(row["language"]),
            str(row["role"]).replace("_", " "),
            f"{row['bits_per_character']:.3f}",
            f"{row['characters']:,}",
            f"{row['unknown_characters']:,}",
        )
    closing = []
    for role in dict.fromkeys(str(row["role"]) for row in rows):
        values = [float(str(row["bits_per_character"])) for row in rows if row["role"] == role]
        mean = sum(values) / len(values)
        closing.append(f"mean over {len(values)} {role.replace('_', ' ')} languages: {mean:.3f} bits/character")
    total = sum(int(str(row["characters"])) for row in rows)
    closing.append(f"{total:,} characters in {seconds:.1f} s ({total / max(seconds, 1e-9):,.0f} characters/s)")
    print_table(title, table, "\n".join(closing))
