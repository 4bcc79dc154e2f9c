"""A study as the tables and figures see it: scores by setting and language, and what is known of the languages."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from protoglot.probing import exoticness
from protoglot.report.rows import StudyRows
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


@dataclass(frozen=True)
class Study:
    """The rows of a study and what follows from them.

    An observation is one sample and one seed. Rows of several units for one observation (two priors that were
    scored beside the same n-gram) count as one; where they disagree, their mean is taken and
    :attr:`num_disagreements` says so.
    """

    rows: StudyRows

    @cached_property
    def _observations(self) -> Mapping[Setting, Mapping[str, list[list[float]]]]:
        found: dict[Setting, dict[str, dict[tuple[int | None, int], list[float]]]] = {}
        for row in self.rows.scores:
            of_language = found.setdefault(setting_of(row), {}).setdefault(row.language, {})
            of_language.setdefault((row.sample, row.seed), []).append(row.bits_per_character)
        return {
            setting: {language: list(by_language[language].values()) for language in sorted(by_language)}
            for setting, by_language in found.items()
        }

    @cached_property
    def num_disagreements(self) -> int:
        """Observations whose rows are not of one mind."""
        return sum(
            max(values) - min(values) > _SAME * max(values)
            for by_language in self._observations.values()
            for observations in by_language.values()
            for values in observations
        )

    @cached_property
    def _measures(self) -> Mapping[Setting, Mapping[str, Measure]]:
        return {
            setting: {language: _measure(observations) for language, observations in by_language.items()}
            for setting, by_language in self._observations.items()
        }

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """All settings that have a score, in the order of tables."""
        return tuple(sorted(self._measures, key=lambda setting: setting.order))

    @cached_property
    def few_shot_sentences(self) -> int:
        """The number of sentences of the few-shot table: the paper's 100 if there, else the largest."""
        found = {setting.sentences or 0 for setting in self.settings if setting.regime == "few-shot"}
        return FEW_SHOT_SENTENCES if FEW_SHOT_SENTENCES in found or not found else max(found)

    def by_language(self, setting: Setting) -> Mapping[str, Measure]:
        """Measures of a setting, empty where nothing was scored."""
        return self._measures.get(setting, {})

    def means(self, setting: Setting) -> dict[str, float]:
        """Bits per character of each language that was scored."""
        return {language: measure.mean for language, measure in self.by_language(setting).items()}

    def average(self, setting: Setting, languages: Iterable[str]) -> Measure | None:
        """Unweighted mean over those of the languages that were scored, or ``None`` where none was.

        The standard error is that of samples and seeds, not of languages: it says how much another draw of
        sentences would change the average. Samples of several languages are independent of each other.
        """
        scored = self.by_language(setting)
        measures = [scored[language] for language in languages if language in scored]
        if not measures:
            return None
        errors = [measure.standard_error for measure in measures if measure.standard_error is not None]
        whole = len(errors) == len(measures)
        return Measure(
            mean=math.fsum(measure.mean for measure in measures) / len(measures),
            standard_error=math.sqrt(math.fsum(error**2 for error in errors)) / len(measures) if whole else None,
            number=len(measures),
        )

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages of the study, those without a score too: what is missing is shown as missing."""
        scored = {row.language for row in self.rows.scores}
        return tuple(sorted(scored | {row.language for row in self.rows.unigrams}))

    @cached_property
    def partitions(self) -> Mapping[str, int]:
        """The partition in which each language was held out."""
        found: defaultdict[str, set[int]] = defaultdict(set)
        for row in self.rows.scores:
            if row.partition is not None:
                found[row.language].add(row.partition)
        return {language: min(partitions) for language, partitions in found.items()}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """English names of languages, as the corpus gives them."""
        return {row.language: row.name for row in self.rows.unigrams if row.name}

    @cached_property
    def families(self) -> Mapping[str, str]:
        """Families of languages, as the corpus gives them."""
        return {row.language: row.family for row in self.rows.unigrams if row.family}

    @cached_property
    def exoticness(self) -> Mapping[str, float]:
        """How far each language's distribution of characters is from that of the others (appendix A)."""
        counts = {row.language: row.counts for row in self.rows.unigrams if sum(row.counts.values())}
        return exoticness(counts) if len(counts) > 1 else {}


def _measure(observations: Iterable[list[float]]) -> Measure:
    values = sorted(math.fsum(values) / len(values) for values in observations)
    return Measure(
        mean=math.fsum(values) / len(values),
        standard_error=standard_error(values) if len(values) > 1 else None,
        number=len(values),
    )
