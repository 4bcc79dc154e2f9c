"""What a figure is."""

from dataclasses import dataclass

from protoglot.report.markup import Markup
from protoglot.report.svg import COLOURS, SHAPES
from protoglot.report.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing and its numbers."""

    title: str
    caption: str
    drawing: Markup
    data: Table
    """Its name is the name of the figure."""


def partition_style(partition: int | None) -> tuple[str, str]:
    """Colour and shape of a partition: blue, red, green and gold as in the paper, in tones all can tell apart."""
    if partition is None:
        return COLOURS[-1], SHAPES[-1]
    index = (partition - 1) % 4
    return COLOURS[index], SHAPES[index]


def partition_name(partition: int | None) -> str:
    """How a partition is called in legends."""
    return "no partition" if partition is None else f"partition {partition}"
