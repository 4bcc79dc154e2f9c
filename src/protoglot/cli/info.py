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
@click.option("--all", "is_whole", is_flag=True, help="Also how it was made, and the files with their checksums.")
def info(path: Path, form: str, is_whole: bool) -> None:
    """What a directory that protoglot wrote holds.

    PATH is a reader, an adapted model, a prior, a run, a model, a scorer or an n-gram. Of a reader, the table first has
    how well it predicted its page before it read it: bits per character of the whole page, and of its last quarter.
    Then come language, sizes, method and settings. With --all it has the rest: what lines of the language cost, how
    it was made and its files. JSON has all of it. Every byte is checked against its checksum.

    \b
    Examples:
      protoglot info mine.txt.model
      protoglot info mine.txt.model --all
      protoglot info priors/oest2 --format json
    """
    from protoglot.description import DETAILS, describe, flatten

    facts = describe(path)
    if form == "json":
        click.echo(to_json(facts), nl=False)
        return
    table = make_table("fact", "value", whole=("fact",))
    shown = flatten({name: value for name, value in facts.items() if is_whole or name not in DETAILS})
    for name, value in shown.items():
        if name not in ("kind", "path", "checksums"):
            table.add_row(name, _shown(value))
    num_more = len(flatten(facts)) - len(shown)
    more = f"; {num_more:,} more facts with --all" if num_more else ""
    print_table(f"{path}: {facts['kind']}", table, f"{facts.get('checksums', '')}{more}".lstrip("; "))


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
