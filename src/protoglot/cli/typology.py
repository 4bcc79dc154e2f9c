"""``protoglot typology``: look at languages as URIEL, or the user, describes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from protoglot.cli.output import Command, format_option, make_table, print_rows, print_table, to_json

if TYPE_CHECKING:
    from protoglot.typology import Mask, Profile, Typology

# Spelt out here, since importing protoglot.typology for them would slow down --help; a test compares.
LEVELS = ("syntax", "phonology", "inventory")

_LANGUAGE = (
    "LANGUAGE is a code of ISO 639-3 (eus), a two-letter code (eu), an English name (basque), or a .csv file."
)


def _level_option(command: Command) -> Command:
    return click.option("--level", type=click.Choice(LEVELS), help="Only this level of features.")(command)


@click.group()
def typology() -> None:
    """Look at the 245 typological features of languages (URIEL).

    Values are observed (stated by a source), imputed (predicted by URIEL from similar languages) or, for your
    own file, filled with the mean over URIEL where you give none.
    """


@typology.command(epilog=_LANGUAGE)
@click.argument("language")
@_level_option
@click.option(
    "--only",
    type=click.Choice(["observed", "imputed", "present"]),
    help="Only observed values, only imputed ones, or only features that the language has (0.5 or more).",
)
@format_option
def show(language: str, level: str | None, only: str | None, form: str) -> None:
    """Show the features of a language.

    The output of --format csv can be edited and given, in place of a language, to the commands of typology and to
    protoglot adapt.

    \b
    Examples:
      protoglot typology show eus --level phonology
      protoglot typology show basque --format csv > mine.csv
    """
    from protoglot.typology import Level, features_of, profile_as_csv

    profile = _read_language(language)
    chosen = features_of(Level(level) if level else None)
    if only == "observed":
        chosen = chosen & profile.observed
    elif only == "imputed":
        chosen = chosen & ~profile.observed & ~profile.filled
    elif only == "present":
        chosen = chosen & (profile.values >= 0.5)
    if form == "csv":
        click.echo(profile_as_csv(profile, chosen), nl=False)
    elif form == "json":
        _print_record(_as_record(profile) | {"features": _feature_records(profile, chosen)})
    else:
        _print_features(profile, chosen)


@typology.command(epilog=_LANGUAGE)
@click.argument("language")
@click.option("--number", type=click.IntRange(min=1), default=10, show_default=True, help="How many languages.")
@click.option(
    "--among", help="Languages to choose from: codes with commas between them, or a corpus (name or path)."
)
@_level_option
@click.option(
    "--min-observed",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Leave out languages of which a smaller share of values is observed.",
)
@format_option
def nearest(
    language: str, number: int, among: str | None, level: str | None, min_observed: float, form: str
) -> None:
    """List the languages that are most like one.

    The distance is the share of features in which two languages differ (the mean absolute difference of their
    values).

    \b
    Examples:
      protoglot typology nearest quc --number 5 --min-observed 0.5
      protoglot typology nearest mine.csv --among eld
    """
    from protoglot.languages import described_name
    from protoglot.typology import Level, Typology, features_of

    uriel = Typology.installed()
    profile = _read_language(language)
    chosen = Level(level) if level else None
    # A file is compared by the features it gives a value to; a code stands for a language to leave out.
    subject = profile.label if uriel.knows(profile.label) else profile
    within = _read_among(among, uriel) if among is not None else None
    neighbours = uriel.nearest(subject, number, within=within, level=chosen, min_observed=min_observed)
    compared = features_of(chosen) & ~profile.filled
    records = [
        {
            "code": neighbour.code,
            "name": described_name(neighbour.code) or "",
            "distance": neighbour.distance,
            "observed": float(uriel.observed(neighbour.code)[compared].mean()),
        }
        for neighbour in neighbours
    ]
    if form == "json":
        _print_record(_as_record(profile) | {"compared": int(compared.sum()), "nearest": records})
    elif form == "csv":
        print_rows(records, "csv", columns=("code", "name", "distance", "observed"))
    else:
        _print_neighbours(profile, records, int(compared.sum()))


@typology.command(epilog=_LANGUAGE.replace("LANGUAGE is", "FIRST and SECOND are each"))
@click.argument("first")
@click.argument("second")
@_level_option
@format_option
def compare(first: str, second: str, level: str | None, form: str) -> None:
    """List the features in which two languages differ.

    \b
    Examples:
      protoglot typology compare eus fra
      protoglot typology compare eus mine.csv --level syntax
    """
    from protoglot.typology import Level, Typology, features_of

    one, other = _read_language(first), _read_language(second)
    chosen = Level(level) if level else None
    differences = Typology.installed().compare(one, other, level=chosen)
    compared = int((features_of(chosen) & ~one.filled & ~other.filled).sum())
    rows = [(item.feature, item.values, item.origins) for item in differences]
    if form == "json":
        features = [{"feature": name, "values": values, "origins": origins} for name, values, origins in rows]
        languages = [_as_record(one), _as_record(other)]
        _print_record({"languages": languages, "compared": compared, "differences": features})
    elif form == "csv":
        header = ("feature", "first_value", "second_value", "first_origin", "second_origin")
        cells = ((name, *map(_number, values), *origins) for name, values, origins in rows)
        print_rows([dict(zip(header, row, strict=True)) for row in cells], "csv", columns=header)
    else:
        _print_differences(one, other, rows, compared)


def _read_language(text: str) -> "Profile":
    """The profile of a language, or of a file."""
    from protoglot.typology import Typology, is_profile_path, read_profile

    uriel = Typology.installed()
    if is_profile_path(text):
        return read_profile(Path(text).expanduser(), uriel)
    return uriel.profile(_resolve(text, uriel))


def _resolve(text: str, uriel: "Typology") -> str:
    """The code of a language; says on stderr what a name, or a code of another kind, was taken for."""
    code = uriel.resolve(text)
    if code != text.strip():
        click.echo(f"protoglot: {text.strip()!r} read as {_title(code)}", err=True)
    return code


def _read_among(text: str, uriel: "Typology") -> list[str]:
    """Codes listed by the user, or those of a corpus that URIEL has."""
    from protoglot.corpus.opening import INSTALLED, open_corpus
    from protoglot.typology import is_profile_path

    is_corpus = text in INSTALLED or ":" in text or is_profile_path(text) or Path(text).is_dir()
    if not is_corpus:
        return [_resolve(part, uriel) for part in text.split(",") if part.strip()]
    codes = sorted({record.iso639_3 for record in open_corpus(text).languages()})
    unknown = [code for code in codes if not uriel.knows(code)]
    if unknown:
        click.echo(f"protoglot: left out, not in URIEL: {', '.join(unknown)}", err=True)
    return [code for code in codes if uriel.knows(code)]


def _title(label: str) -> str:
    """Name and code of a language, or the path of a file."""
    from protoglot.languages import titled
    from protoglot.typology import is_profile_path

    return label if is_profile_path(label) else titled(label)


def _as_record(profile: "Profile") -> dict[str, Any]:
    return {"language": profile.label, "title": _title(profile.label), "coverage": profile.coverage()}


def _feature_records(profile: "Profile", chosen: "Mask") -> list[dict[str, Any]]:
    from protoglot.typology import Level, feature_names

    return [
        {
            "feature": feature,
            "level": Level.of(feature),
            "value": float(profile.values[position]),
            "origin": profile.origin(position),
        }
        for position, feature in enumerate(feature_names())
        if chosen[position]
    ]


def _print_record(record: dict[str, Any]) -> None:
    click.echo(to_json(record), nl=False)


def _number(value: float) -> str:
    return f"{value:.3g}"


def _in_words(value: float) -> str:
    """A value for the eye: URIEL's are yes or no."""
    return {0.0: "no", 1.0: "yes"}.get(value, _number(value))


def _heading(profile: "Profile") -> str:
    """Name, code and coverage of each level, in lines of less than 80 characters (but for long paths)."""
    from protoglot.typology import features_of

    shares = []
    for level in profile.coverage():
        of_level = features_of(level)
        num_observed, num_features = int(profile.observed[of_level].sum()), int(of_level.sum())
        shares.append(f"{level} {num_observed} of {num_features}")
    lines = [_title(profile.label), f"observed: {', '.join(shares)}"]
    if profile.filled.any():
        lines.append(f"filled with the mean over URIEL: {int(profile.filled.sum())} of {len(profile.filled)}")
    return "\n".join(lines)


def _print_features(profile: "Profile", chosen: "Mask") -> None:
    if not chosen.any():
        print_table(_heading(profile), None, "No such feature.")
        return
    table = make_table("feature", "value", "origin")
    level_before = None
    # Sorted by level (stable): URIEL's own order mixes them.
    for record in sorted(_feature_records(profile, chosen), key=lambda record: LEVELS.index(record["level"])):
        if level_before not in (None, record["level"]):
            table.add_section()
        level_before = record["level"]
        table.add_row(record["feature"], _in_words(record["value"]), record["origin"])
    print_table(_heading(profile), table)


def _print_neighbours(profile: "Profile", records: list[dict[str, Any]], compared: int) -> None:
    heading = f"{_heading(profile)}\nnearest by {compared} features:"
    if not records:
        print_table(heading, None, "No language to compare with.")
        return
    table = make_table(
        "code", "name", "distance", "differ", "observed", numeric=("distance", "differ", "observed")
    )
    for record in records:
        differ = f"{record['distance'] * compared:.3g}"
        table.add_row(
            record["code"], record["name"], f"{record['distance']:.3f}", differ, f"{record['observed']:.0%}"
        )
    imputed = sum(record["observed"] == 0 for record in records)
    closing = f"{imputed} of these are imputed throughout; --min-observed 0.5 would leave them out."
    print_table(heading, table, closing if imputed else "")


def _print_differences(
    one: "Profile",
    other: "Profile",
    rows: Sequence[tuple[str, tuple[float, float], tuple[str, str]]],
    compared: int,
) -> None:
    heading = f"A: {_heading(one)}\nB: {_heading(other)}\nThey differ in {len(rows)} of {compared} features."
    if not rows:
        print_table(heading, None)
        return
    table = make_table("feature", "A", "B")
    for name, values, origins in rows:
        table.add_row(
            name, *(f"{_in_words(value)}, {origin}" for value, origin in zip(values, origins, strict=True))
        )
    print_table(heading, table)
