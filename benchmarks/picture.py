"""What was measured as bars: an SVG picture, on pages light and dark, that needs no library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.sax.saxutils import escape

from benchmarks.harness import Row, bytes_text, seconds_text

WIDTH = 900
MARGIN = 24
LINE = 26
BAR = 16
LETTER = 7.2
"""About the width of a letter: text is measured by the program that shows it, too late for the layout."""

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #24292f }
  .case { font-weight: 600; font-size: 15px }
  .small { font-size: 12px; fill: #57606a }
  .page { fill: #ffffff; stroke: #d0d7de }
  .first { fill: #8c959f }
  .other { fill: #7fb2d6 }
  .best { fill: #0072b2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9da7b1 }
    .page { fill: #0d1117; stroke: #30363d }
    .first { fill: #7d8590 }
    .other { fill: #33638a }
    .best { fill: #56b4e9 }
  }
"""


def bars(rows: Sequence[Row], machine: str) -> str:
    """A picture of these rows: a group for each case, a line for each side, one column for time and one for memory.

    In each group, the bar of the first side is grey, and the best of the others stands out.
    """
    names = max((len(row.side) for row in rows), default=0) * LETTER
    left = MARGIN + names
    column = (WIDTH - MARGIN - left) / 2
    middle = left + column
    longest = column - 16 * LETTER  # what the text behind the longest bar needs
    parts = [
        _text(left, MARGIN + 8, "time, and how many times faster", "small"),
        _text(middle, MARGIN + 8, "peak memory beyond inputs and outputs", "small"),
    ]
    y = MARGIN + 20.0
    for case, found in groupby(rows, key=lambda row: row.case):
        group = list(found)
        parts.append(_text(MARGIN, y + 16, case, "case"))
        y += LINE + 2
        seconds = [row.seconds for row in group]
        sizes = [row.peak_bytes for row in group if row.peak_bytes is not None]
        for place, row in enumerate(group):
            parts.append(_text(left - 12, y + 13, row.side, "side", anchor="end"))
            faster = f" ({1 / row.ratio:.1f}\u00d7)" if place else ""
            kind = _kind(place, row.seconds, seconds)
            length = longest * row.seconds / max(seconds)
            parts.append(_bar(left, y, length, kind, seconds_text(row.seconds) + faster))
            if row.peak_bytes is not None:
                kind = _kind(place, row.peak_bytes, sizes)
                length = longest * row.peak_bytes / max(*sizes, 1)
                parts.append(_bar(middle, y, length, kind, bytes_text(row.peak_bytes)))
            y += LINE
        y += 10
    parts.append(_text(MARGIN, y + 10, machine, "small"))
    height = round(y + 10 + MARGIN - 6)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="Bars of time and peak memory">'
    )
    page = f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", page, *parts, "</svg>", ""])


def _kind(place: int, value: float, values: Sequence[float]) -> str:
    if place == 0:
        return "first"
    return "best" if value == min(values[1:]) else "other"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _bar(x: float, y: float, length: float, kind: str, label: str) -> str:
    """A bar, at least as long as one can see, with its value behind it."""
    length = max(length, 2)
    bar = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{BAR}" rx="2"/>'
    return bar + "\n" + _text(x + length + 6, y + 13, label, "value")
