"""`harness plot`: files where they were asked for, one message where a figure cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Called


@pytest.fixture
def plot(files: Path, cli: Callable[..., Called]) -> Callable[..., Called]:
    """`harness plot RUN RUN …` of two runs with four examples."""
    for name in ("good", "bad"):
        ran = cli(
            "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={name}.jsonl",
            "metrics=bleu", "tracking=none", "stats.resamples=50",
        )  # fmt: skip
        assert ran.code == 0, ran.err

    def call(*arguments: str) -> Called:
        return cli("plot", "dev-good", "dev-bad", "--resamples", "50", *arguments)

    return call


def test_all_figures_go_into_a_folder_each_with_its_caption(plot: Callable[..., Called]) -> None:
    made = plot("--format", "json")
    assert made.code == 0, made.err
    written = {path.name for path in Path("figures").iterdir()}
    kinds = ("forest-dev", "effects-dev", "matrix-dev", "differences-dev", "buckets-dev-source_length")
    assert {f"{kind}.json" for kind in kinds} <= written
    assert "figures/forest-dev.json\n  Scores on dev. Scores with 95% intervals" in made.out


def test_one_figure_goes_into_a_file_by_its_suffix(plot: Callable[..., Called]) -> None:
    starts = {"svg": b"<svg", "pdf": b"%PDF-", "png": b"\x89PNG", "html": b"<!doctype html>"}
    for suffix, start in starts.items():
        made = plot("--figure", "forest", "-o", f"paper/forest.{suffix}", "--width", "320")
        assert (made.code, made.err) == (0, "")
        assert Path(f"paper/forest.{suffix}").read_bytes().startswith(start)
    assert b"src=" not in Path("paper/forest.html").read_bytes().split(b"<script>")[0]
    assert plot("--figure", "buckets", "--by", "topic", "-o", "topic.svg").code == 0
    assert plot("-o", "all.html").code == 0  # a page holds them all
    assert Path("all.html").read_bytes().count(b"<figure>") > 4


REFUSED = {
    "--figure curve": "the figure curve cannot be drawn from dev-good, dev-bad; expected two checkpoints or more",
    "--figure sweep": "the figure sweep cannot be drawn",
    "--figure buckets --by domain": "no field 'domain'; expected one of source_length, reference_length, word_frequency, novelty, topic",
    "--figure forest --by topic": "--by topic with the figure forest; expected it with buckets only",
    "--figure forest --score blue": "no run on dev has the score 'blue' (did you mean 'bleu'?); expected one of bleu, bleu.p1, ",
    "-o figure.pdf": "-o figure.pdf holds one figure, and there are",
    "-o figure.jpg": "-o figure.jpg: no figure can be written as .jpg; expected .pdf .png .svg .json .html",
    "--figure forest -o dev.jsonl/f.svg": "dev.jsonl/f.svg cannot be written",
    "--baseline dev-none": "there is no run 'dev-none'",
}


def test_what_cannot_be_drawn_is_said(plot: Callable[..., Called]) -> None:
    for arguments, message in REFUSED.items():
        made = plot(*arguments.split())
        assert made.code == 1 and message in made.err and made.err.startswith("harness: "), (arguments, made.err)


def test_the_command_names_every_figure() -> None:
    from harness.analysis.figures import KINDS
    from harness.cli.commands.plot import FIGURES, FORMATS
    from harness.report.charts.rendering import SUFFIXES

    assert tuple(KINDS) == FIGURES and tuple(f".{kind}" for kind in FORMATS) == SUFFIXES


def test_wrong_usage(plot: Callable[..., Called]) -> None:
    assert plot("--figure", "tree").code == 2
    assert plot("--width", "3").code == 2
    assert plot("--format", "pdf", "-o", "x.svg").code == 2
