"""All figures of a study."""

from collections.abc import Callable

from protoglot.report.figures.characters import character_heat_map
from protoglot.report.figures.exoticness import exoticness_scatter
from protoglot.report.figures.families import family_chart
from protoglot.report.figures.figure import Figure
from protoglot.report.figures.sentences import sentences_chart
from protoglot.report.figures.signal import signal_chart
from protoglot.report.study import Study

_FIGURES: tuple[tuple[Callable[[Study], Figure | None], str], ...] = (
    (sentences_chart, "Bits per character by number of sentences: no few-shot scores."),
    (family_chart, "Bits per character by family: no scores of languages whose family is known."),
    (
        exoticness_scatter,
        "Exoticness and bits per character: no scores of languages whose characters were counted.",
    ),
    (character_heat_map, "Characters by language: no counts of characters."),
    (signal_chart, "Signal-to-noise ratio of weights: no densities."),
)


def all_figures(study: Study) -> list[Figure | str]:
    """All figures; where rows for one are missing, a sentence that says so."""
    return [draw(study) or missing for draw, missing in _FIGURES]
