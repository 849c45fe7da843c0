"""Colours that people with colour-blindness tell apart, labels that stay different, panels that fill their rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from harness.report.charts.theme import BETTER, DARK, LIGHT, NEUTRAL, WORSE, columns, responsive, short

SEEN = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""Linear RGB as people see it who lack a kind of cones (Machado, Oliveira and Fernandes 2009)."""


def lab(colour: str, seen: list[list[float]]) -> np.ndarray:
    """CIELAB of #rrggbb, as it is seen."""
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    rgb = np.clip(np.array(seen) @ linear, 0, 1)
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = matrix @ rgb / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("palette", ["light", "dark", "verdicts"])
def test_colours_are_told_apart_by_the_colour_blind(palette: str, seen: str) -> None:
    colours = {
        "light": LIGHT["range"]["category"], "dark": DARK["range"]["category"], "verdicts": [BETTER, WORSE, NEUTRAL],
    }[palette]  # fmt: skip
    gaps = {(a, b): float(np.linalg.norm(lab(a, SEEN[seen]) - lab(b, SEEN[seen]))) for a, b in combinations(colours, 2)}
    closest = min(gaps, key=lambda pair: gaps[pair])
    assert gaps[closest] > 12, (closest, gaps[closest])  # five times what one can just see, and shapes beside it


def test_labels_are_cut_where_they_stay_different() -> None:
    middle = ["wmt22-transformer-base-de-en", "wmt22-transformer-large-de-en"]
    assert short(middle, 40) == middle
    for limit in range(4, 30):
        labels = short(middle, limit)
        assert len(set(labels)) == 2, labels
    assert short(["same", "same"], 9) == ["same", "same (2)"]


def test_no_panel_stands_alone_in_the_last_row() -> None:
    for width in (320, 640, 900, 1272):
        for panels in range(1, 13):
            across = columns(panels, width, 150)
            assert across == 1 or panels % across != 1, (panels, width, across)


def test_a_page_knows_the_room_that_panels_want() -> None:
    y = {"field": "system", "type": "nominal", "scale": {"domain": ["a" * 20, "b"]}}
    x = {"field": "low", "type": "quantitative"}
    spec = {"$schema": "s", "concat": [{"layer": [{"encoding": {"x": x, "y": y}}], "width": 90}] * 2}
    legends, panels = responsive(spec)
    assert legends == []
    assert [panel["usermeta"]["beside"] for panel in panels] == [pytest.approx(133)] * 2
    assert panels[0]["width"] == "container"
    x = {"field": "bucket", "type": "nominal", "scale": {"domain": ["a" * 20 + "\nn=10", "b\nn=5"]}}
    _, (panel,) = responsive({"$schema": "s", "encoding": {"x": x}, "width": 90})
    assert panel["usermeta"]["below"] == pytest.approx(2 * (20 * 5.5 + 6))
