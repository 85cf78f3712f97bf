"""Timelines of steps as SVG images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from ._simulate import Bar, Case

# Pixels.
LEFT, WIDTH, TOP, ROW, BAR, GAP = 110, 720, 26, 24, 18, 18

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .lane { fill: #57606a }
  .axis { stroke: #d0d7de } .computing { fill: #54aeff } .exchange { fill: #8250df }
  .idle { fill: #ffebe9 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .lane { fill: #9198a1 } .axis { stroke: #3d444d }
    .computing { fill: #388bfd } .exchange { fill: #a371f7 } .idle { fill: #490202 }
  }
"""


def picture(cases: Sequence[tuple[str, Case]]) -> str:
    """Draws below each title what the first rank computes, when it waits, and its links."""
    longest = max((case.seconds for _, case in cases), default=0) or 1
    parts, y = [], 0
    for title, case in cases:
        part, height = _timeline(title, case, WIDTH / longest, y)
        parts += part
        y += height + GAP
    size = f'width="{LEFT + WIDTH + 12}" height="{y}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _timeline(title: str, case: Case, scale: float, y: int) -> tuple[list[str], int]:
    lanes = ["computing", *sorted({b.lane for b in case.bars} - {"computing"})]
    parts = [f'<text x="{LEFT}" y="{y + 15}">{escape(title)}</text>']
    for place, lane in enumerate(lanes):
        top = y + TOP + place * ROW
        parts.append(f'<text class="lane" x="4" y="{top + 14}">{escape(lane)}</text>')
        bars = [b for b in case.bars if b.lane == lane]
        if lane == "computing":
            end = case.seconds * scale
            parts.append(f'<rect class="idle" x="{LEFT}" y="{top}" width="{end:.1f}" '
                         f'height="{BAR}"/>')  # fmt: skip
        name = "computing" if lane == "computing" else "exchange"
        parts += [_bar(b, name, scale, top) for b in bars]
    bottom = y + TOP + len(lanes) * ROW
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{bottom}" '
                 f'y2="{bottom}"/>')  # fmt: skip
    return parts, bottom - y


def _bar(bar: Bar, name: str, scale: float, top: int) -> str:
    x, width = LEFT + bar.begin * scale, max((bar.end - bar.begin) * scale - 0.5, 0.3)
    said = escape(f"{bar.name}: {1e3 * (bar.end - bar.begin):.3f} ms")
    return (
        f'<rect class="{name}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2">'
        f"<title>{said}</title></rect>"
    )
