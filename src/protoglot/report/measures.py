"""Scores of each language in each setting, summed up over samples and seeds."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from protoglot.report.rows import ScoreRow
from protoglot.report.settings import FEW_SHOT_SENTENCES, Setting, setting_of
from protoglot.statistics import standard_error

_SAME = 1e-6  # two scores of one text by one model differ by rounding only


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Bits per character: a mean, and how far it can be trusted."""

    mean: float

    standard_error: float | None
    """Over samples and seeds; ``None`` where there is one observation only."""

    number: int
    """Observations behind a language's measure; languages behind an average."""


class Measures:
    """Measures by setting and language.

    An observation is one sample and one seed. Rows of several units for one observation (two priors that were
    scored beside the same n-gram) count as one; where they disagree, their mean is taken and
    :attr:`num_disagreements` says so.
    """

    def __init__(self, rows: Iterable[ScoreRow]) -> None:
        observations: dict[Setting, dict[str, dict[tuple[int | None, int], list[float]]]] = {}
        partitions: defaultdict[str, set[int]] = defaultdict(set)
        for row in rows:
            by_language = observations.setdefault(setting_of(row), {})
            by_observation = by_language.setdefault(row.language, {})
            by_observation.setdefault((row.sample, row.seed), []).append(row.bits_per_character)
            if row.partition is not None:
                partitions[row.language].add(row.partition)
        self.num_disagreements = sum(
            max(values) - min(values) > _SAME * max(values)
            for by_language in observations.values()
            for by_observation in by_language.values()
            for values in by_observation.values()
        )
        self._measures = {
            setting: {language: _measure(by_language[language].values()) for language in sorted(by_language)}
            for setting, by_language in observations.items()
        }
        self.partitions: dict[str, int] = {language: min(found) for language, found in partitions.items()}

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """All settings that have a score, in the order of tables."""
        return tuple(sorted(self._measures, key=lambda setting: setting.order))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages that have a score."""
        return tuple(sorted({language for measures in self._measures.values() for language in measures}))

    @cached_property
    def few_shot_sentences(self) -> int:
        """The number of sentences of the few-shot table: the paper's 100 if there, else the largest."""
        numbers = {setting.sentences for setting in self.settings if setting.regime == "few-shot"} - {None}
        found = {number for number in numbers if number is not None}
        return FEW_SHOT_SENTENCES if FEW_SHOT_SENTENCES in found or not found else max(found)

    def by_language(self, setting: Setting) -> Mapping[str, Measure]:
        """Measures of a setting, empty where nothing was scored."""
        return self._measures.get(setting, {})

    def of(self, language: str, setting: Setting) -> Measure | None:
        """The measure of a language, or ``None`` where it was not scored."""
        return self.by_language(setting).get(language)

    def means(self, setting: Setting) -> dict[str, float]:
        """Bits per character of each language that was scored."""
        return {language: measure.mean for language, measure in self.by_language(setting).items()}

    def average(self, setting: Setting, languages: Iterable[str]) -> Measure | None:
        """Unweighted mean over those of the languages that were scored, or ``None`` where none was.

        The standard error is that of samples and seeds, not of languages: it says how much another draw of
        sentences would change the average.
        """
        scored = self.by_language(setting)
        return average([scored[language] for language in languages if language in scored])


def average(measures: list[Measure]) -> Measure | None:
    """Unweighted mean of measures of several languages, whose samples are independent of each other."""
    if not measures:
        return None
    errors = [measure.standard_error for measure in measures if measure.standard_error is not None]
    whole = len(errors) == len(measures)
    return Measure(
        mean=math.fsum(measure.mean for measure in measures) / len(measures),
        standard_error=math.sqrt(math.fsum(error**2 for error in errors)) / len(measures) if whole else None,
        number=len(measures),
    )


def _measure(observations: Iterable[list[float]]) -> Measure:
    values = sorted(math.fsum(values) / len(values) for values in observations)
    return Measure(
        mean=math.fsum(values) / len(values),
        standard_error=standard_error(values) if len(values) > 1 else None,
        number=len(values),
    )
