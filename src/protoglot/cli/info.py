"""``protoglot info``."""

from pathlib import Path

import click

from protoglot.cli.output import make_table, print_table, to_json


@click.command()
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A table to read, or JSON for a program.",
)
def info(path: Path, form: str) -> None:
    """What a directory that protoglot wrote holds.

    PATH is a reader, an adapted model, a prior, a run, a model, a scorer or an n-gram. Shown are its kind and
    language, sizes, method and settings, how it was made and under which licences. Every byte is checked against its
    checksum.

    \b
    Examples:
      protoglot info mine.txt.model
      protoglot info priors/oest2 --format json
    """
    from protoglot.description import describe, flatten

    facts = describe(path)
    if form == "json":
        click.echo(to_json(facts), nl=False)
        return
    table = make_table("fact", "value", whole=("fact",))
    for name, value in flatten(facts).items():
        if name not in ("kind", "path", "checksums"):
            table.add_row(name, _shown(value))
    print_table(f"{path}: {facts['kind']}", table, str(facts.get("checksums", "")))


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
