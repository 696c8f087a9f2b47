"""What was measured as bars: a picture on a white card, for pages light and dark. Needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import Row, bytes_text, seconds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, LINE, MARGIN = 9.0, 0.27, 0.2
"""In inches: the picture, from one bar to the next, around everything."""
FIRST, OTHER, BEST = "#8c959f", "#7fb2d6", "#0072b2"
"""Colours that the colour-blind tell apart, too."""
SMALL = {"size": 9, "color": "#57606a"}
STYLE = {
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.75,
    "text.color": "#24292f",
    "ytick.labelcolor": "#24292f",
    "text.parse_math": False,  # a $ is a $
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "slinky",  # what is named at random otherwise has the same name every time
}


def endings() -> list[str]:
    """The endings of the pictures that can be drawn; an ImportError without matplotlib."""
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    return sorted(f".{kind}" for kind in kinds if kind != "pgf")  # for which matplotlib needs TeX


def draw(rows: Sequence[Row], machine: str, path: Path) -> None:
    """Draw a group for each case, a line for each side, a column for time and, where it was measured, one for memory.

    In each group, the bars of the first side are grey, and those of the fastest of the others stand out.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    groups = [list(found) for _, found in groupby(rows, key=lambda row: row.case)]
    titles = ["time, and how many times faster"]
    if all(row.peak_bytes is not None for row in rows):
        titles.append("peak memory beyond inputs and outputs")
    lines = len(rows) + 1.4 * len(groups)
    with style.context(["default", STYLE]):
        figure = Figure((WIDTH, LINE * (lines + 1.6) + 2 * MARGIN), edgecolor="#d0d7de", linewidth=1.5)
        figure.set_layout_engine("constrained", w_pad=MARGIN, h_pad=0.8 * MARGIN)
        columns = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
        for column, title in zip(columns, titles, strict=True):
            column.set(xlim=(0, 1), ylim=(lines - 1.1, -1.3), xticks=[], frame_on=False)
            column.text(0, -1, title, va="center", **SMALL)
        places: list[float] = []
        for number, group in enumerate(groups):
            top = len(places) + 1.4 * number
            y = [top + 1 + line for line in range(len(group))]
            case = columns[0].annotate(
                group[0].case, (72 * MARGIN, top), xycoords=("figure points", "data"), va="center", size=11.25
            )
            case.set(weight="bold", in_layout=False)
            faster = ["", *(f" ({1 / row.ratio:.1f}×)" for row in group[1:])]
            times = [seconds_text(row.seconds) + text for row, text in zip(group, faster, strict=True)]
            fastest = min(group[1:], key=lambda row: row.seconds, default=None)
            colours = [FIRST, *(BEST if row is fastest else OTHER for row in group[1:])]
            _bars(columns[0], y, [row.seconds for row in group], times, colours)
            for column in columns[1:]:
                sizes = [bytes_text(row.peak_bytes) for row in group]
                _bars(column, y, [row.peak_bytes or 0 for row in group], sizes, colours)
            places += y
        columns[0].set_yticks(places, [row.side for row in rows], va="center")
        for column in columns:
            column.tick_params(length=0, pad=8)
        figure.supxlabel(machine, x=MARGIN / WIDTH, ha="left", **SMALL)
        figure.savefig(path, dpi=200, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _bars(
    column: Axes, y: Sequence[float], values: Sequence[float], labels: Sequence[str], colours: Sequence[str]
) -> None:
    """Bars, at least as long as one can see, with their values behind them."""
    lengths = [max(value / max(*values, 1e-9), 0.008) for value in values]
    column.bar_label(column.barh(y, lengths, height=0.62, color=colours), labels, padding=5)
