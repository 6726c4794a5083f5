#!/usr/bin/env python3
"""Play the story on a lab machine and keep it: docs/story.cast (for asciinema), and docs/story.svg drawn from it."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.lab.machine import PROJECT, Machine
from tests.lab.recipe import build
from tests.lab.recording import COLUMNS, Cell, play, screen, text_of
from tests.lab.terminal import PROMPT

CAST = PROJECT / "docs/story.cast"
#: In px: a cell of the screen, the font, the margin.
WIDTH, HEIGHT, FONT, MARGIN = 8.43, 18, 14, 16
STYLE = f"""text {{ fill: #d8dee9; font: {FONT}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.bold {{ font-weight: bold; fill: #fff }} .typed {{ fill: #8fd18f }}"""


def svg() -> str:
    """A picture of the recording's last screen, out of text that can be read, searched and copied."""
    lines = screen(CAST.read_text())
    width, height = round(COLUMNS * WIDTH) + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" role="img" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        f"<title>A terminal: remedy finds the cause, shows its plan, applies it, and the service is healthy</title>\n"
        f'<style>{STYLE}</style>\n<rect width="100%" height="100%" rx="8" fill="#1d2129"/>\n'
    ]
    for row, line in enumerate(lines):
        parts += _runs(line, MARGIN + row * HEIGHT + FONT)
    return "".join((*parts, "</svg>\n"))


def _runs(line: list[Cell], y: int) -> list[str]:
    """The line's runs of one style, each stretched to its cells: fonts differ in width."""
    typed = text_of(line).startswith(PROMPT)
    parts, column = [], 0
    for bold, cells in groupby(line, key=lambda cell: cell[1]):
        run = "".join(character for character, _ in cells)
        text = run.strip()
        if text:
            start = column + run.index(text)
            style = ' class="typed"' if typed else ' class="bold"' if bold else ""
            place = f'x="{MARGIN + start * WIDTH:.1f}" y="{y}" textLength="{len(text) * WIDTH:.1f}"'
            parts.append(f'<text {place} lengthAdjust="spacingAndGlyphs"{style}>{escape(text)}</text>\n')
        column += len(run)
    return parts


def main() -> None:
    with Machine(build()) as machine:
        CAST.write_text(play(machine))
    CAST.with_suffix(".svg").write_text(svg())


if __name__ == "__main__":
    main()
