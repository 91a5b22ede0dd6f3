"""Contrast of every text on a page, measured in the browser as WCAG 2.1 defines it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEASURE = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Text:
    """A text on a page with its contrast; ``large`` as WCAG has it: 24 px, or 18.66 px and bold."""

    text: str
    ratio: float
    large: bool
    where: str
    kind: str
    colours: str

    @property
    def enough(self):
        """Whether the contrast is AA."""
        return self.ratio >= (3.0 if self.large else 4.5) - 0.005


def texts_of(page):
    """Every visible text of the page."""
    return [Text(**found) for found in page.evaluate(MEASURE)]
