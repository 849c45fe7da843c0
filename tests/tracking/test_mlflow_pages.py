"""MLflow's own pages on our runs, in a real Chromium: the evaluation view compares them, the description is a table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Called
from tests.tracking.servers import client

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
HOSTILE = "<img src=x onerror=window.hit=1> | **b"


@pytest.fixture
def page() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser.new_page(viewport={"width": 1600, "height": 1200})
        browser.close()


def test_what_mlflow_shows(files: Path, cli: Callable[..., Called], server: str, page: Any) -> None:
    (files / "good.jsonl").rename(files / f"{HOSTILE}.jsonl")
    run = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=bleu", "stats.resamples=50")
    for name in (HOSTILE, "bad"):
        called = cli(*run, f"system.path='{name}.jsonl'", f"tracking.uri={server}", "tracking.experiment=pages")
        assert called.code == 0, called.err
    store = client(server)
    experiment = store.get_experiment_by_name("pages").experiment_id
    runs = {run.data.tags["harness.system"]: run.info.run_id for run in store.search_runs([experiment])}

    page.goto(f"{server}/#/experiments/{experiment}/runs?compareRunsMode=ARTIFACT&workflowType=machine_learning")
    for text in ("the cat sat down", "a dog stood up"):  # the first output of each system, side by side
        page.get_by_text(text, exact=True).first.wait_for(timeout=60_000)
    assert page.get_by_text("eval_results_table.json").count() >= 1

    page.goto(f"{server}/#/experiments/{experiment}/runs/{runs[HOSTILE]}?workflowType=machine_learning")
    page.locator("td", has_text="bleu.p1").first.wait_for(timeout=60_000, state="attached")
    assert page.get_by_text(f"{HOSTILE} on dev: 4 examples, none failed").count() == 1  # as text
    assert page.evaluate("window.hit") is None
