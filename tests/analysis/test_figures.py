"""Figures: their numbers are the study's, they render, and hostile names break none of them."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import harness
from harness import plot
from harness.analysis.comparing.study import study
from harness.analysis.figures import DARK, LIGHT, Wanted, figures, responsive, wanted_figures
from harness.report.charts.rendering import page, rendered
from harness.report.charts.theme import columns, short
from harness.stats.options import ComparisonOptions
from harness.types import Figure, HarnessError, RunResult, Study

FAST = ComparisonOptions(resamples=100)
N = 40
WORDS = ["river", "stone", "bird", "cloud", "tree", "wind", "road", "lamp"]
GENERATOR = random.Random(3)
REFERENCES = [" ".join(GENERATOR.choice(WORDS) for _ in range(GENERATOR.randint(4, 12))) for _ in range(N)]
HOSTILE = [
    "</script><script>alert(1)</script>",
    "a.b[0]['c']",
    "quotes \" and ' and \\ and {{x}} <b>&amp;",
    "\u202edesrever",
    "x" * 300 + "1",
    "x" * 300 + "2",
    "line\nbreak\x00\x1b[31m",
    "",
    "\ud800half",
    "datum.value",
]


def made(name: str, quality: float, seed: int = 0, dataset: str = "dev", **more: Any) -> RunResult:
    draw = random.Random(seed)
    texts = [" ".join(w if draw.random() < quality else draw.choice(WORDS) for w in r.split()) for r in REFERENCES]
    sources = [reference.upper() for reference in REFERENCES]
    result = harness.evaluate(texts, REFERENCES, ["bleu", "ter"], sources, resamples=200, name=name)
    examples = result.examples.copy()
    for field, values in more.pop("metadata", {}).items():
        examples[field] = values
    return replace(result.with_examples(examples), dataset=dataset, dataset_key=dataset, **more)


@pytest.fixture(scope="module")
def three() -> Study:
    topics = [("news", "talks")[i % 2] for i in range(N)]
    runs = [
        made(name, 0.4 + 0.2 * i, i, metadata={"topic": topics, "number": [i * 37 % 101 for i in range(N)]})
        for i, name in enumerate(("low", "middle", "high"))
    ]
    return study(runs, baseline="low", options=ComparisonOptions(resamples=300))


@pytest.fixture(scope="module")
def drawn(three: Study) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures(three)}


def rows(figure: Figure, *fields: str) -> list[dict[str, Any]]:
    """The data of all panels that has these fields."""
    every = [row for values in figure.chart.to_dict()["datasets"].values() for row in values]
    return [row for row in every if all(field in row for field in fields)]


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield str(key), item
        yield from walk(item)


def test_all_figures_that_make_sense(drawn: dict[str, Figure]) -> None:
    assert list(drawn) == [
        "forest-dev", "effects-dev", "matrix-dev", "differences-dev", "buckets-dev-source_length",
        "buckets-dev-reference_length", "buckets-dev-output_length", "buckets-dev-topic", "buckets-dev-number",
    ]  # fmt: skip
    alone = figures(study(made("only", 0.5), options=FAST))
    assert {figure.name.partition("-")[0] for figure in alone} == {"forest", "buckets"}


def test_several_data_sets_have_figures_each() -> None:
    runs = [made(f"{name}-{data}", 0.5, dataset=data) for name in ("a", "b") for data in ("wmt 22", "wmt/22")]
    names = [figure.name for figure in figures(study(runs, options=FAST)) if figure.name.startswith("forest")]
    assert names == ["forest-wmt-22", "forest-wmt-22-2"]
    below = plot(runs, "matrix", scores=["bleu"], resamples=100).to_dict()["vconcat"]
    assert [panel["title"]["text"] for panel in below] == ["Pairwise verdicts on wmt 22", "Pairwise verdicts on wmt/22"]
    assert below[0]["vconcat"][0]["title"]["text"] == "BLEU"


def test_a_forest_shows_the_scores_and_who_leads(three: Study, drawn: dict[str, Figure]) -> None:
    shown = rows(drawn["forest-dev"], "estimate", "system")
    scores = [run.scores[name] for name in ("bleu", "ter") for run in reversed(three.runs)]
    assert [(row["estimate"], row["low"], row["high"]) for row in shown] == [
        (s.estimate, s.low, s.high) for s in scores
    ]
    beaten = {row.baseline for row in three.comparisons if row.system == "high" and row.verdict == "better"}
    assert beaten == {"low", "middle"}  # by both scores, else the next line says nothing
    assert [row["standing"].startswith("best") for row in shown] == [True, False, False] * 2
    lines = rows(drawn["forest-dev"], "line")
    assert [row["line"] for row in lines] == [three.runs[0].scores[name].estimate for name in ("bleu", "ter")]


def test_effects_are_the_comparisons_with_the_baseline(three: Study, drawn: dict[str, Figure]) -> None:
    shown = {
        (row["estimate"], row["low"], row["high"], row["standing"]) for row in rows(drawn["effects-dev"], "system")
    }
    assert shown == {(row.difference, row.low, row.high, row.verdict) for row in three.against}


def test_the_matrix_has_each_pair_both_ways(three: Study, drawn: dict[str, Figure]) -> None:
    cells = rows(drawn["matrix-dev"], "row", "column")
    assert len(cells) == 2 * len(three.comparisons) == 12
    for row in three.comparisons:
        there = [c for c in cells if (c["row"], c["column"]) == (row.system, row.baseline)]
        back = [c for c in cells if (c["row"], c["column"]) == (row.baseline, row.system)]
        assert row.verdict in [c["verdict"] for c in there] and row.difference is not None
        assert f"{row.difference:+.2f}".replace("-", "−") in [c["difference"] for c in there]
        assert f"{-row.difference:+.2f}".replace("-", "−") in [c["difference"] for c in back]
        assert {"better": "worse", "worse": "better"}.get(row.verdict, row.verdict) in [c["verdict"] for c in back]


def test_differences_are_counted_in_python(three: Study, drawn: dict[str, Figure]) -> None:
    bars = rows(drawn["differences-dev"], "outcome")
    assert sum(row["count"] for row in bars) == 2 * 2 * N  # two systems, two scores
    assert len(json.dumps(drawn["differences-dev"].chart.to_dict())) < 40_000
    won = {(row.system, row.score): row.won for row in three.against}
    titles = [text for key, text in walk(drawn["differences-dev"].chart.to_dict()) if key == "subtitle"]
    assert titles[0].startswith(f"won {won['high', 'bleu']:.0%}")


def test_buckets_are_the_examples_evaluated_alone(three: Study, drawn: dict[str, Figure]) -> None:
    shown = [row for row in rows(drawn["buckets-dev-topic"], "bucket") if row["bucket"].startswith("news")]
    run = three.runs[1]
    news = run.examples["topic"] == "news"
    texts, references = (run.examples[news][name] for name in ("output", "references"))
    alone = harness.evaluate(list(texts), [list(r) for r in references], ["bleu", "ter"], resamples=300)
    mine = [(row["estimate"], row["low"], row["high"]) for row in shown if row["system"] == "middle"]
    wanted = [(s.estimate, s.low, s.high) for s in (alone.scores["bleu"], alone.scores["ter"])]
    assert [pytest.approx(estimate, abs=1e-9) for estimate in wanted] == mine
    assert {row["n"] for row in shown} == {N // 2}


def test_buckets_of_whole_numbers_of_which_some_are_missing(three: Study) -> None:
    run = three.runs[0]
    years = pa.array([(1234567, 1234568, None, 1234569)[i % 4] for i in range(N)])
    table = run.table.append_column("serial", years).append_column("tags", pa.array([["a"], []] * (N // 2)))
    (serial, tags) = figures(study([replace(run, load=lambda: table)], options=FAST), bucket_fields=["serial", "tags"])[
        -2:
    ]
    assert [row["bucket"].split() for row in rows(serial, "bucket")][:4] == [
        [label, "n=10"] for label in ("1234567", "1234568", "1234569", "(none)")
    ]
    assert {row["bucket"].split()[0] for row in rows(tags, "bucket")} == {'["a"]', "[]"}


def test_a_field_that_is_not_there(three: Study) -> None:
    with pytest.raises(HarnessError, match="no field 'domain'; expected one of source_length, .*topic, number"):
        figures(three, bucket_fields=["domain"])


def checkpoints(series: str, quality: float) -> list[RunResult]:
    return [
        made(
            f"{series}-{step}",
            quality + step / 2_000,
            manifest={"system": {"step": step, "series": f"{series}-0a1b2c3d"}},
        )
        for step in (300, 100, 200)
    ]


def test_a_curve_by_step_and_series() -> None:
    runs = [*checkpoints("adam", 0.5), *checkpoints("sgd", 0.3)]
    drawn_figures = figures(study(runs, options=FAST))
    assert [figure.name for figure in drawn_figures] == ["curve-dev", "matrix-dev"]
    points = rows(drawn_figures[0], "series")
    assert [(row["series"], row["x"]) for row in points[:6]] == [
        (s, x) for s in ("adam", "sgd") for x in (100, 200, 300)
    ]
    own = runs[0].scores["bleu"]
    assert points[2]["estimate"] == own.estimate
    assert points[2]["low"] < own.low < own.high < points[2]["high"]  # the band holds at all steps at once
    assert {row["mark"] for row in points} == {"", "best", "earliest"}
    assert "95% bands that hold at all steps at once" in drawn_figures[0].caption
    assert re.search(r"adam: BLEU is best at step \d00 \(\d+\.\d\d\)", drawn_figures[0].caption)
    with pytest.raises(HarnessError, match="the figure curve cannot be drawn from only; expected two checkpoints"):
        plot([made("only", 0.5)], "curve")


def sweep(**values: list[Any]) -> list[RunResult]:
    cells: list[dict[str, Any]] = [{}]
    for name, some in values.items():
        cells = [{**cell, name: setting} for cell in cells for setting in some]
    return [
        made(
            f"run {i}", 0.3 + 0.05 * i, i,
            manifest={"config": {"system": {"_target_": "x.Y", "name": f"run {i}", **cell}, "output_dir": f"out/{i}"}},
        )
        for i, cell in enumerate(cells)
    ]  # fmt: skip


def test_a_sweep_over_one_number_is_a_line_on_a_fitting_scale() -> None:
    (logarithmic,) = wanted_figures(sweep(rate=[1e-5, 1e-4, 1e-3, 1e-2]), None, Wanted("sweep"), FAST)
    assert [row["x"] for row in rows(logarithmic, "series")][:4] == [1e-5, 1e-4, 1e-3, 1e-2]
    assert "log" in [kind for key, kind in walk(logarithmic.chart.to_dict()) if key == "type"]
    (linear,) = wanted_figures(sweep(beams=[1, 2, 3, 4]), None, Wanted("sweep"), FAST)
    assert "log" not in [kind for key, kind in walk(linear.chart.to_dict()) if key == "type"]


def test_a_sweep_over_two_is_a_heat_map_and_over_three_parallel() -> None:
    runs = sweep(beams=[1, 4], prompt=["plain", "chat"])
    (heat,) = wanted_figures(runs, None, Wanted("sweep"), FAST)
    cells = rows(heat, "across", "down", "estimate")
    assert {(row["across"], row["down"], row["estimate"]) for row in cells} >= {
        ("1", "plain", runs[0].scores["bleu"].estimate),
        ("4", "chat", runs[3].scores["bleu"].estimate),
    }
    (lines,) = wanted_figures(
        sweep(beams=[1, 4], prompt=["plain", "chat"], top=[0.5, 0.9]), None, Wanted("sweep"), FAST
    )
    points = rows(lines, "place", "run")
    assert {row["axis"] for row in points} == {"beams", "prompt", "top", "BLEU", "TER"}
    assert len(points) == 8 * 4 * 2
    assert all(0 <= row["place"] <= 1 for row in points)
    assert "sweep-dev" in [figure.name for figure in figures(study(runs, options=FAST))]


def test_a_line_does_not_join_different_systems() -> None:
    """Runs of a system each differ in more than the number that they share."""
    systems = [
        made(name, 0.3 + 0.1 * i, i, manifest={"config": {"system": {"_target_": f"x.{name}", "sentences": 3 - i}}})
        for i, name in enumerate(("lead", "lexrank"))
    ]
    names = [figure.name for figure in figures(study(systems, options=FAST))]
    assert "forest-dev" in names and "sweep-dev" not in names
    (asked_for,) = wanted_figures(systems, None, Wanted("sweep"), FAST)
    assert "Changing along with sentences: system." in asked_for.caption


def test_a_misspelt_figure_has_its_nearest(three: Study) -> None:
    with pytest.raises(HarnessError, match=r"there is no figure 'forrest' \(did you mean 'forest'\?\)"):
        wanted_figures(three.runs, None, Wanted("forrest"), FAST)


def test_a_sweep_needs_what_differs(three: Study) -> None:
    with pytest.raises(
        HarnessError, match="the figure sweep cannot be drawn from low, middle, high; expected .*differ"
    ):
        wanted_figures(three.runs, None, Wanted("sweep"), FAST)


def test_chosen_scores_and_their_names(three: Study) -> None:
    chart = plot(three.runs, "forest", scores=["bleu.bp"], resamples=100).to_dict()
    assert json.dumps(chart).count('"BLEU bp"') and '"TER"' not in json.dumps(chart)
    with pytest.raises(HarnessError, match=r"has the score 'blue' \(did you mean 'bleu'\?\); expected one of bleu, "):
        plot(three.runs, "forest", scores=["blue"])
    with pytest.raises(HarnessError, match="no figure 'tree'; expected one of forest, "):
        plot(three.runs, "tree")


@pytest.fixture(scope="module")
def hostile() -> list[Figure]:
    metadata = {"meta.a[0]['b']": [HOSTILE[i % len(HOSTILE)].replace("\ud800", "") for i in range(N)]}
    runs = [
        made(name, 0.3 + 0.05 * i, i, dataset="d</script>.x[0]", metadata=metadata,
             manifest={"config": {"system": {"_target_": "x", "a.b[0]": name, "beams": i % 3}}})
        for i, name in enumerate(HOSTILE)
    ]  # fmt: skip
    curve = [
        replace(run, manifest={"system": {"step": i, "series": HOSTILE[i % 2]}}, dataset="c", dataset_key="c")
        for i, run in enumerate(runs)
    ]
    return [*figures(study(runs, options=FAST)), *figures(study(curve, options=FAST))]


def test_hostile_names_are_data_never_fields_or_addresses(hostile: list[Figure]) -> None:
    kinds = {figure.name.partition("-")[0] for figure in hostile}
    assert kinds == {"forest", "matrix", "differences", "sweep", "parameters", "buckets", "curve"}
    for figure in hostile:
        assert "/" not in figure.name and "<" not in figure.name
        spec = figure.chart.to_dict()
        for key, text in walk({k: v for k, v in spec.items() if k not in ("datasets", "$schema")}):
            if key == "field":
                assert text.isidentifier() and text.isascii() and len(text) < 12, text
            assert key not in ("url", "href") and not (isinstance(text, str) and text.startswith("http"))


@pytest.mark.slow
def test_hostile_names_render_as_text(hostile: list[Figure]) -> None:
    pictures = [rendered(figure, ".svg") for figure in hostile if figure.name.partition("-")[0] in ("forest", "sweep")]
    texts = ["".join(ElementTree.fromstring(picture).itertext()) for picture in pictures]
    for name in ("</script>", "a.b[0]['c']", "datum.value", "half"):
        assert name in texts[0]
    markup = page(hostile).decode()
    assert markup.count("</script") == 2 and "alert(1)</script" not in markup and "&lt;/script&gt;" in markup


def test_names_stay_apart_when_they_are_cut() -> None:
    labels = short([name for name in HOSTILE if name])
    assert len(set(labels)) == len(labels) and all(len(label) <= 32 for label in labels)
    assert short(["same", "same", "same"]) == ["same", "same (2)", "same (3)"]


@pytest.mark.parametrize("dark", [False, True])
def test_files_are_what_they_say_and_the_same_each_time(drawn: dict[str, Figure], dark: bool) -> None:
    figure = drawn["forest-dev"]
    png, pdf, svg, text = (rendered(figure, suffix, dark) for suffix in (".png", ".pdf", ".svg", ".json"))
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and pdf.startswith(b"%PDF-") and b"/Font" in pdf
    assert {"middle", "BLEU"} <= set(ElementTree.fromstring(svg).itertext())
    assert json.loads(text)["config"]["style"] == (DARK if dark else LIGHT)["style"]
    assert int.from_bytes(png[16:20], "big") > 1_000  # pixels across: fit for print
    assert (png, pdf, svg, text) == tuple(
        rendered(figure, suffix, dark) for suffix in (".png", ".pdf", ".svg", ".json")
    )


def test_all_figures_render(drawn: dict[str, Figure]) -> None:
    for name in ("effects-dev", "matrix-dev", "differences-dev", "buckets-dev-topic"):
        assert len(list(ElementTree.fromstring(rendered(drawn[name], ".svg")).itertext())) > 10


def test_width_is_kept(three: Study) -> None:
    for width in (320, 640, 900):
        chart = plot(three.runs, "forest", width=width, resamples=100).to_dict()
        picture = rendered(Figure("", "", "", plot(three.runs, "forest", width=width, resamples=100)), ".svg")
        assert 0.8 * width < float(ElementTree.fromstring(picture).attrib["width"]) < 1.1 * width
        assert len(chart["concat"]) == 2


def test_responsive_panels_stand_alone(drawn: dict[str, Figure]) -> None:
    legends, panels = responsive(drawn["forest-dev"].chart.to_dict())
    assert [[row["name"][:4] for row in legend["data"]["values"]] for legend in legends] == [["best", "wors"]] * 2
    assert len(panels) == 2 and all(panel["width"] == "container" for panel in panels)
    for panel in panels:
        assert "datasets" not in panel and not [value for key, value in walk(panel) if key == "labels"]
        assert all("values" in value for key, value in walk(panel) if key == "data")
    _, panels = responsive(drawn["matrix-dev"].chart.to_dict())
    assert all(isinstance(panel["width"], dict) for panel in panels)


def test_panels_fill_their_rows() -> None:
    assert [columns(n, 640) for n in (1, 2, 4, 5, 6, 9)] == [1, 2, 4, 3, 3, 3]
    assert columns(6, 100) == 1
    assert math.isclose(columns(3, 10_000), 3)
