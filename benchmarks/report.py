"""The report of 10,000 examples by four systems: how long it takes to write, how large it is, how quick in Chromium.

Limits of the issue: first paint under 2 s, a filter under 200 ms, a file under 25 MB. Interactions are timed from the
event to the end of the frame that shows their result, the median of several.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

EXAMPLES = int(os.environ.get("BENCH_REPORT", "10000"))
SYSTEMS = {"large": 0.2, "medium": 0.3, "small": 0.45, "tiny": 0.7}
"""Shares of the reference's words that each system gets wrong."""
SOURCE, REFERENCE = 90, 30
"""Words of a text on average."""


def words(chance: random.Random, n: int, vocabulary: list[str], weights: list[float]) -> str:
    return " ".join(chance.choices(vocabulary, cum_weights=weights, k=n)) + "."


def made_runs(n: int) -> list[Any]:
    """Runs with texts of made-up words, as frequent as words are (Zipf), and metadata to filter by."""
    import harness

    chance = random.Random(1)
    syllables = ["ka", "lo", "mi", "ren", "ta", "su", "vel", "dor", "ne", "is", "qua", "ber", "ol", "pin", "ga"]
    vocabulary = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(30_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    lengths = [max(5, round(chance.gauss(REFERENCE, 8))) for _ in range(n)]
    references = [[words(chance, k, vocabulary, weights) for _ in range(2)] for k in lengths]
    sources = [words(chance, max(20, round(chance.gauss(SOURCE, 25))), vocabulary, weights) for _ in range(n)]
    runs = []
    for name, share in SYSTEMS.items():
        outputs = [
            " ".join(w if chance.random() > share else words(chance, 1, vocabulary, weights) for w in texts[0].split())
            for texts in references
        ]
        run = harness.evaluate(outputs, references, "lexical", sources=sources, resamples=1000, name=name)
        frame = run.examples.assign(
            domain=[("news", "law", "chat", "science")[i % 4] for i in range(n)], year=[1990 + i % 35 for i in range(n)]
        )
        runs.append(replace(run.with_examples(frame), dataset="made up", dataset_key="made up"))
    return runs


TIMED = """async () => {
  const start = performance.now();
  ACT;
  await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
  return performance.now() - start;
}"""
INPUT = "const node = document.getElementById('{}'); node.value = '{}'; node.dispatchEvent(new Event('{}'))"
CHOICE = (
    INPUT.format("field", "field domain", "change")
    + ";"
    + "const other = document.getElementById('value');"
    + ("other.value = 'law'; other.dispatchEvent(new Event('change'))")
)
ACTS = {
    "search, one letter": (INPUT.format("q", "k", "input"), INPUT.format("q", "", "input")),
    "search, a word": (INPUT.format("q", "kaloren", "input"), INPUT.format("q", "", "input")),
    "filter by a field": (CHOICE, "document.querySelector('.chip').click()"),
    "filter by a range": (INPUT.format("from", "10", "input"), INPUT.format("from", "", "input")),
    "sort by a score": (INPUT.format("sort", "score 2", "change"), INPUT.format("sort", "wins", "change")),
    "sort by length of output": (INPUT.format("sort", "output 1", "change"), INPUT.format("sort", "wins", "change")),
    "another score": (INPUT.format("score", "rouge2", "change"), INPUT.format("score", "bleu", "change")),
    "next example": ("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}))", ""),
}


def measured(path: Path, rounds: int = 7) -> dict[str, Any]:
    """{first paint, examples ready, acts} in milliseconds, in a fresh browser."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    arguments += ["--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        paints, ready = [], []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("#explorer[aria-busy=false]", timeout=60_000)
            ready.append(page.evaluate("performance.now()"))
            paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            if len(paints) < 3:
                page.close()
        page.evaluate("document.querySelector('#examples').scrollIntoView({behavior: 'instant'})")
        page.wait_for_timeout(1500)  # texts are made ready for the search meanwhile
        acts = {}
        for name, (act, undo) in ACTS.items():
            times = []
            for _ in range(rounds):
                times.append(page.evaluate(TIMED.replace("ACT", f"{{ {act} }}")))
                page.evaluate(TIMED.replace("ACT", f"{{ {undo} }}"))
            acts[name] = statistics.median(times)
        browser.close()
    return {"paint": statistics.median(paints), "ready": statistics.median(ready), "acts": acts}


def child(folder: str) -> None:
    """In a process of its own, so that its memory and imports are its own."""
    from harness import write_report

    runs = made_runs(EXAMPLES)
    path = Path(folder) / "report.html"
    start = time.perf_counter()
    write_report(runs, path, baseline=runs[-1], resamples=1000)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "size": path.stat().st_size}))


def tables() -> Iterator[str]:
    if shutil.which("chromium") is None:
        yield "No Chromium on this machine, so the report was not measured."
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.report", folder]
        made = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        timings = measured(Path(folder) / "report.html")
    yield (
        f"The page of {EXAMPLES:,} examples by {len(SYSTEMS)} systems (sources of about {SOURCE} words, two references "
        f"and each output of about {REFERENCE}; BLEU and ROUGE), in Chromium:"
    )
    yield ""
    yield "| | measured | limit |"
    yield "| --- | ---: | ---: |"
    yield f"| writing the file, 1,000 resamples | {made['seconds']:.1f} s | |"
    yield f"| its size | {made['size'] / 1e6:.1f} MB | 25 MB |"
    yield f"| first paint | {timings['paint']:.0f} ms | 2,000 ms |"
    yield f"| all examples there | {timings['ready']:.0f} ms | |"
    for name, milliseconds in timings["acts"].items():
        yield f"| {name} | {milliseconds:.0f} ms | {'200 ms' if name != 'next example' else ''} |"


if __name__ == "__main__":
    child(sys.argv[1])
