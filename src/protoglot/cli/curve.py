"""Curves drawn in the terminal."""

from collections.abc import Mapping, Sequence


def draw_curves(
    curves: Mapping[str, Sequence[float]], labels: Sequence[tuple[int, str]], *, height: int = 10
) -> list[str]:
    r"""Lines of a diagram with a point of each curve in each column; a column takes two places.

    Args:
        curves: values by the mark of the curve, one character, all as many; a later mark hides an earlier one.
        labels: what stands below some columns, and where it begins.
        height: lines between the highest and the lowest value.

    >>> print(*draw_curves({"o": [3, 2, 1, 1]}, [(0, "1"), (3, "4")], height=3), sep="\n")
     3.00 ┤o
     2.00 ┤  o
     1.00 ┤    o o
          └───────
           1     4
    """
    values = [value for curve in curves.values() for value in curve]
    low, high = min(values), max(values)
    step = (high - low) / (height - 1) or 1.0
    width = max(len(curve) for curve in curves.values())
    rows = [[" "] * width for _ in range(height)]
    for mark, curve in curves.items():
        for column, value in enumerate(curve):
            rows[round((high - value) / step)][column] = mark
    lines = [f"{high - number * step:5.2f} ┤{' '.join(row).rstrip()}" for number, row in enumerate(rows)]
    below = ""
    for column, label in labels:
        below += " " * (2 * column - len(below)) + label
    return [*lines, f"      └{'─' * (2 * width - 1)}", f"       {below}"]
