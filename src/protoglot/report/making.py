"""How the rows were made: cost, failures, environments."""

import json
import math
from collections import defaultdict

from protoglot.report.markup import Child, Markup, element, join
from protoglot.report.rows import EnvironmentRow
from protoglot.report.settings import Setting, setting_of
from protoglot.report.study import Study
from protoglot.report.tables import Column, Table, number, words

_DIRTY = "-dirty"  # as git marks the commit of a source that was changed


def cost_table(study: Study) -> Table | None:
    """What adapting and scoring took, setting by setting; ``None`` without scores."""
    seconds: defaultdict[Setting, list[float]] = defaultdict(list)
    characters: defaultdict[Setting, int] = defaultdict(int)
    for row in study.rows.scores:
        seconds[setting_of(row)].append(row.seconds)
        characters[setting_of(row)] += row.characters
    if not seconds:
        return None
    settings = sorted(seconds, key=lambda setting: setting.order)
    return Table(
        name="cost",
        title="What it took",
        caption="What adapting a model and scoring its text took, on average over the rows of each setting.",
        columns=(
            Column(key="setting", heading="setting", numeric=False),
            Column(key="rows", heading="rows"),
            Column(key="characters", heading="characters scored"),
            Column(key="mean_seconds", heading="mean seconds"),
            Column(key="total_seconds", heading="seconds in all"),
        ),
        rows=tuple(
            (
                words(setting.full_label),
                number(float(len(seconds[setting])), digits=0),
                number(float(characters[setting]), digits=0),
                number(math.fsum(seconds[setting]) / len(seconds[setting]), digits=2),
                number(math.fsum(seconds[setting]), digits=0),
            )
            for setting in settings
        ),
    )


def failures_table(study: Study) -> Table | None:
    """Units of work that gave no result, or ``None`` if all did."""
    if not study.rows.failures:
        return None
    return Table(
        name="failures",
        title="Failures",
        caption="Units of work that gave no result; what they would have given is missing above.",
        columns=(
            Column(key="unit", heading="unit", numeric=False),
            Column(key="what", heading="what", numeric=False),
            Column(key="reason", heading="reason", numeric=False),
        ),
        rows=tuple(
            (words(failure.unit), words(failure.what), words(failure.reason)) for failure in study.rows.failures
        ),
        prose=True,
    )


def environments_section(study: Study) -> Markup:
    """Commit, versions, machine, times and configuration, and how to run it all again.

    What several environments share (as a rule all but the times) is shown once.
    """
    if not study.rows.environments:
        return element("p", "The rows do not say with what they were made.")
    groups: defaultdict[str, list[EnvironmentRow]] = defaultdict(list)
    for environment in study.rows.environments:
        shared = [environment.commit, environment.versions, environment.machine, environment.config]
        groups[json.dumps(shared, sort_keys=True)].append(environment)
    return join(_environment(environments) for _, environments in sorted(groups.items()))


def _environment(environments: list[EnvironmentRow]) -> Markup:
    first = environments[0]
    seconds = [environment.seconds for environment in environments if environment.seconds is not None]
    facts: list[tuple[str, Child]] = [
        ("commit", element("code", first.commit or "unknown")),
        ("versions", _pairs(first.versions)),
        ("machine", _pairs(first.machine)),
        ("started", min(environment.started for environment in environments) or "unknown"),
        ("finished", max(environment.finished for environment in environments) or "unknown"),
        ("time", f"{math.fsum(seconds) / 3600:.2f} hours" if seconds else "unknown"),
        ("rows of it", str(len(environments))),
    ]
    return element(
        "section",
        element("dl", [[element("dt", term), element("dd", value)] for term, value in facts], class_="facts"),
        element(
            "details",
            element("summary", "Configuration"),
            element("pre", json.dumps(first.config, ensure_ascii=False, indent=2, sort_keys=True)),
        ),
        element("p", f"To run it again{_changed(first)}:"),
        element("pre", _commands(first)),
        class_="environment",
    )


def _changed(environment: EnvironmentRow) -> str:
    """A warning where the code was not that of any commit."""
    return " (the code had changes that are in no commit)" if environment.commit.endswith(_DIRTY) else ""


def _commands(environment: EnvironmentRow) -> str:
    name = environment.config.get("name")
    config = f"configs/{name}.toml" if isinstance(name, str) else "CONFIG"
    corpus = "" if environment.config.get("corpus") else " --corpus PATH"
    return (
        f"git checkout {environment.commit.removesuffix(_DIRTY) or 'COMMIT'}\n"
        f"protoglot study run {config}{corpus} --out study\n"
        "protoglot study report study"
    )


def _pairs(values: object) -> str:
    if isinstance(values, dict):
        return ", ".join(f"{key} {_plain(value)}" for key, value in sorted(values.items())) or "unknown"
    return _plain(values)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
