"""The theme: text stands out in light and in dark as WCAG 2.2 AA asks, charts have enough colours."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THEME = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]


def luminance(colour):
    raw = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in raw)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_controls_stand_out(scheme):
    theme = THEME[scheme]
    backgrounds = [
        theme["backgroundColor"],
        theme["secondaryBackgroundColor"],
        theme["codeBackgroundColor"],
        *THEME[scheme]["sidebar"].values(),
    ]
    for background in backgrounds:
        assert contrast(theme["textColor"], background) >= 7, background
        assert contrast(theme["primaryColor"], background) >= 3, background  # parts of controls
    assert contrast(theme["linkColor"], theme["backgroundColor"]) >= 4.5
    assert contrast("#ffffff", theme["primaryColor"]) >= 4.5  # the label of a primary button


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_have_ten_colours_that_stand_out(scheme):
    theme = THEME[scheme]
    colours = theme["chartCategoricalColors"]
    assert len(set(colours)) >= 10
    assert all(contrast(c, theme["backgroundColor"]) >= 2.8 for c in colours)
