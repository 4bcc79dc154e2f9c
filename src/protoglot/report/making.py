"""How the rows were made: cost, failures, environments."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from protoglot.report.rows import EnvironmentRow
from protoglot.report.settings import Setting, setting_of
from protoglot.report.study import Study
from protoglot.report.tables import Table, number, words

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
    return Table(
        name="cost",
        title="What it took",
        caption="What adapting a model and scoring its text took, on average over the rows of each setting.",
        rows=[
            {
                "setting": words(setting.full_label),
                "rows": number(float(len(seconds[setting])), digits=0),
                "characters scored": number(float(characters[setting]), digits=0),
                "mean seconds": number(math.fsum(seconds[setting]) / len(seconds[setting]), digits=2),
                "seconds in all": number(math.fsum(seconds[setting]), digits=0),
            }
            for setting in sorted(seconds, key=lambda setting: setting.order)
        ],
        forms=("csv",),
    )


def failures_table(study: Study) -> Table | None:
    """Units of work that gave no result, or ``None`` if all did."""
    if not study.rows.failures:
        return None
    return Table(
        name="failures",
        title="Failures",
        caption="Units of work that gave no result; what they would have given is missing above.",
        rows=[
            {"unit": words(failure.unit), "what": words(failure.what), "reason": words(failure.reason)}
            for failure in study.rows.failures
        ],
        prose=True,
        forms=("csv",),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What some environments share, as a rule all but the times, and how to run it all again."""

    facts: Mapping[str, str]
    config: str
    commands: str
    is_changed: bool
    """Whether the code was that of no commit."""


def makings(study: Study) -> list[Making]:
    """With what, where and when the rows were made; what several environments share is there once."""
    groups: defaultdict[str, list[EnvironmentRow]] = defaultdict(list)
    for environment in study.rows.environments:
        shared = [environment.commit, environment.versions, environment.machine, environment.config]
        groups[json.dumps(shared, sort_keys=True)].append(environment)
    return [_making(environments) for _, environments in sorted(groups.items())]


def _making(environments: list[EnvironmentRow]) -> Making:
    first = environments[0]
    seconds = [environment.seconds for environment in environments if environment.seconds is not None]
    return Making(
        facts={
            "commit": first.commit or "unknown",
            "versions": _pairs(first.versions),
            "machine": _pairs(first.machine),
            "started": min(environment.started for environment in environments) or "unknown",
            "finished": max(environment.finished for environment in environments) or "unknown",
            "time": f"{math.fsum(seconds) / 3600:.2f} hours" if seconds else "unknown",
            "rows of it": str(len(environments)),
        },
        config=json.dumps(first.config, ensure_ascii=False, indent=2, sort_keys=True),
        commands=_commands(first),
        is_changed=first.commit.endswith(_DIRTY),
    )


def _commands(environment: EnvironmentRow) -> str:
    name = environment.config.get("name")
    config = f"configs/{name}.toml" if isinstance(name, str) else "CONFIG"
    corpus = "" if environment.config.get("corpus") else " --corpus PATH"
    return (
        f"git checkout {environment.commit.removesuffix(_DIRTY) or 'COMMIT'}\n"
        f"protoglot study run {config}{corpus} --out study\n"
        "protoglot study report study"
    )


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {_plain(value)}" for key, value in sorted(values.items())) or "unknown"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
