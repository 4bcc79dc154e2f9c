"""A study as the tables and figures see it: its measures, and what is known of its languages."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from protoglot.probing import exoticness
from protoglot.report.measures import Measures
from protoglot.report.rows import StudyRows


@dataclass(frozen=True)
class Study:
    """The rows of a study and what follows from them."""

    rows: StudyRows

    @cached_property
    def measures(self) -> Measures:
        """Scores by setting and language."""
        return Measures(self.rows.scores)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """All languages of the study, those without a score too: what is missing is shown as missing."""
        return tuple(sorted({*self.measures.languages, *(row.language for row in self.rows.unigrams)}))

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

    @property
    def partitions(self) -> Mapping[str, int]:
        """The partition in which each language was held out."""
        return self.measures.partitions
