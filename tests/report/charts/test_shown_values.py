"""Rows of a chart are shared by all copies that Altair makes of it, and drawn as those of `alt.InlineData` are."""

from __future__ import annotations

from typing import Any

import altair as alt

from harness.report.charts.shown_values import Values

ROWS = [{"x": 1.0, "name": "a"}, {"x": None, "name": "b"}]


def figure(data: Any) -> Any:
    base = alt.Chart(data).encode(x=alt.X("x:Q"))
    panel = alt.layer(base.mark_rule(), base.mark_point()).properties(width=100)
    return alt.concat(panel, panel, columns=2)


def test_copies_share_their_rows() -> None:
    values = Values(ROWS)
    assert figure(values).copy().data is values
    assert figure(values).copy().data.values[0] is ROWS[0]


def test_drawn_as_any_other_data() -> None:
    assert figure(Values(ROWS)).to_dict() == figure(alt.InlineData(values=ROWS)).to_dict()
