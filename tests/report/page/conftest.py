"""Runs that are made up, and a real browser to look at their page with."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.types import RunResult

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "house",
    "river",
    "runs",
    "sleeps",
    "slowly",
    "quickly",
    "over",
    "under",
    "bright",
    "dark",
    "old",
    "new",
    "town",
    "song",
    "door",
]
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(words))


def worsened(text: str, share: float, chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) if chance.random() < share else word for word in text.split())


def made(
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    name: str,
    sources: Sequence[str | None] | None = None,
    metadata: Mapping[str, Sequence[Any]] | None = None,
    failed: Mapping[int, str] | None = None,
    repeats: int = 1,
    ids: Sequence[str] | None = None,
    metrics: Sequence[Any] = ("bleu", "rouge"),
) -> RunResult:
    """A run in memory; `failed` rows have an error instead of an output, rows of one example stand side by side."""
    run = harness.evaluate(outputs, references, list(metrics), sources=sources, resamples=200, name=name)
    frame = run.examples.copy()
    n = len(frame)
    frame["id"] = [str(ids[i // repeats]) if ids else f"example-{i // repeats}" for i in range(n)]
    frame["repeat"] = [i % repeats for i in range(n)]
    for key, values in (metadata or {}).items():
        frame[key] = list(values)
    statistics = {key: part.with_rows(part.rows.copy()) for key, part in run.statistics.items()}
    for i, error in (failed or {}).items():
        frame.loc[i, "output"], frame.loc[i, "error"] = None, error
        frame.loc[i, [name for name in run.scores if name in frame]] = np.nan
        for part in statistics.values():
            part.rows[i] = np.nan
    more: dict[str, Any] = {"failed": len(failed or {}), "dataset": "dev", "dataset_key": "dev"}
    return replace(run.with_examples(frame), statistics=statistics, **more)


def three_runs(n: int = 60) -> list[RunResult]:
    """good, fair (which fails twice) and bad, on data with two references, a domain and a year."""
    chance = random.Random(7)
    references = [[text, worsened(text, 0.3, chance)] for text in (sentence(chance, 6 + i % 20) for i in range(n))]
    sources = [f"Source {i}: {sentence(chance, 12)}" for i in range(n)]
    metadata = {"domain": [("news", "law", "chat")[i % 3] for i in range(n)], "year": [1990 + i % 30 for i in range(n)]}
    shares = {"good": 0.2, "fair": 0.4, "bad": 0.7}
    failed = {"fair": {3: "timeout after 30 s", 11: "the server said no"}}
    return [
        made(
            [worsened(texts[0], share, chance) for texts in references],
            references,
            name,
            sources,
            metadata,
            failed.get(name),
        )
        for name, share in shares.items()
    ]


def again(page: str) -> list[str]:
    """What a page says makes it again, as a reader copies it."""
    said = page.split("<h3>Again</h3>")[1].split("<pre")[1].split(">", 1)[1].split("</pre>")[0]
    return [unescape(re.sub("</?bdi>", "", line)) for line in said.strip().splitlines()]


@dataclass
class Opened:
    """A page in the browser, with everything that went wrong in it."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ready(self) -> Opened:
        self.page.wait_for_selector("#explorer[aria-busy=false]")
        return self

    def ids(self) -> list[str]:
        return [text.split(" · ")[0] for text in self.page.locator(".item .id").all_inner_texts()]

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def check(self) -> None:
        assert not self.problems
        assert not self.requests


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; ended with the module, as playwright's event loop would get in the way of others."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield started
        started.close()


def opened(browser: Any, path: Path, address: str = "", **options: Any) -> Opened:
    """The file in a window of its own."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options})
    context.set_default_timeout(10_000)
    page = context.new_page()
    report = Opened(page)
    page.on("console", lambda said: report.problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: report.problems.append(str(error)))
    page.on("dialog", lambda dialog: (report.problems.append("dialog " + dialog.message), dialog.dismiss()))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "blob:", "data:")) else report.requests.append(asked.url),
    )
    page.goto(path.resolve().as_uri() + address)
    return report.ready()


def two_retrievers() -> list[RunResult]:
    """Two systems that retrieved other passages for the same two questions, of which ids were judged."""
    ferry = {"id": "ferry", "text": "The crossing takes twenty-five minutes in calm water.", "score": 3.2}
    fares = {"id": "fares", "text": "A return ticket costs six pounds; tickets are sold on board.", "score": 1.4}
    keepers = {"id": "keepers", "text": "Three keepers lived in the lighthouse.", "score": 2.0}
    answers = {
        "bm25": (["The crossing takes twenty-five minutes, tickets cost six pounds.", "Three keepers."], [[fares, ferry], [keepers]]),
        "titles": (["Six pounds.", "I do not know."], [[fares], []]),
    }  # fmt: skip
    return [
        harness.evaluate(
            outputs, ["Twenty-five minutes.", "Three keepers."], ["rouge"], name=name, resamples=50, contexts=contexts,
            sources=["How long is the crossing?", "How many keepers?"], relevant=[["ferry"], {"keepers": 1, "ferry": 0}],
        )
        for name, (outputs, contexts) in answers.items()
    ]  # fmt: skip
