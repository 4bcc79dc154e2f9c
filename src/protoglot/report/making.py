"""How the rows were made: cost, failures, environments."""

import json
import math
from collections import defaultdict
from dataclasses import dataclass

from protoglot.report.rows import EnvironmentRow
from protoglot.report.settings import Setting, setting_of
from protoglot.report.study import Study
from protoglot.report.tables import Table, number, words


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
                "rows": number(len(seconds[setting]), digits=0),
                "characters scored": number(characters[setting], digits=0),
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
    """Environments that share all but the times."""

    first: EnvironmentRow
    number: int
    started: str
    finished: str
    hours: float | None


def makings(study: Study) -> list[Making]:
    """With what, where and when the rows were made; what several environments share is there once."""
    groups: defaultdict[str, list[EnvironmentRow]] = defaultdict(list)
    for row in study.rows.environments:
        groups[json.dumps([row.commit, row.versions, row.machine, row.config], sort_keys=True)].append(row)
    return [_making(rows) for _, rows in sorted(groups.items())]


def _making(rows: list[EnvironmentRow]) -> Making:
    seconds = [row.seconds for row in rows if row.seconds is not None]
    return Making(
        first=rows[0],
        number=len(rows),
        started=min(row.started for row in rows),
        finished=max(row.finished for row in rows),
        hours=math.fsum(seconds) / 3600 if seconds else None,
    )
