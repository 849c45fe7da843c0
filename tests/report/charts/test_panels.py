"""Panels side by side align, whatever numbers stand at their axes."""

from __future__ import annotations

import re

import vl_convert

from harness.report.charts import buckets
from harness.report.charts.theme import LIGHT, responsive


def top(score: str, estimates: list[float]) -> float:
    """How far below its upper edge a panel of a page begins."""
    points = [buckets.Point("a", i, value, value, value, 9) for i, value in enumerate(estimates)]
    chart = buckets.draw([buckets.Panel(score, points, 2)], ["a"], buckets.Buckets("domain", ["x", "y"], None))
    _, (panel,) = responsive(chart.to_dict())
    drawn = vl_convert.vegalite_to_svg({**panel, "width": 300, "config": LIGHT}, vl_version="5.21")
    (place,) = re.findall(
        r'<g [^>]*transform="translate\([\d.]+,([\d.]+)\)"><g class="mark-group role-frame root"', drawn
    )
    return float(place)


def test_a_number_at_the_top_of_an_axis_moves_no_panel() -> None:
    assert top("BLEU", [0.0, 103.0]) == top("chrF", [0.0, 95.0])  # the topmost numbers are 100, near the end, and 80
