"""`make bench`: every benchmark once, tables to docs/performance.md; `python -m benchmarks neural`: that part only."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import (
    analysing,
    engines,
    generation,
    importing,
    lexical,
    linking,
    listing,
    neural,
    reading,
    report,
    resampling,
    resume,
    retrieval,
    serving,
    sweeping,
    tracking,
    views,
    whole,
)

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def start_of_the_command_line() -> float:
    command = [sys.executable, "-m", "harness", "--help"]
    return lexical.clock(lambda: subprocess.run(command, check=True, capture_output=True), 5)


def command_line() -> Iterator[str]:
    start = start_of_the_command_line()
    yield f"`harness --help` answers in {start:.2f} s: nothing heavy is imported before it is known which command runs."


def main(chosen: list[str]) -> None:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    head = f"""# Performance

*Not run here: it takes an hour, and its numbers depend on the machine.*

```console
$ make bench
```

Written by this command on {machine}; each peer runs beside it on the same data.
Machines are noisy: read ratios, not seconds.
"""
    tables: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
        "whole": ("The whole command", whole.tables),
        "lexical": ("Lexical metrics", lexical.tables),
        "start": ("Cold start", lexical.starting),
        "neural": ("BERTScore", neural.tables),
        "retrieval": ("Retrieval", retrieval.tables),
        "views": ("Views", views.tables),
        "statistics": ("Intervals and comparisons", resampling.tables),
        "analysing": ("Commands on stored runs", analysing.tables),
        "reading": ("Reading data", reading.tables),
        "generation": ("Generation", generation.tables),
        "engines": ("Engines", engines.tables),
        "serving": ("Endpoints", serving.tables),
        "resume": ("Resume", resume.tables),
        "sweeping": ("Sweeps", sweeping.tables),
        "runs": ("Listing runs", listing.tables),
        "importing": ("Importing logs", importing.tables),
        "tracking": ("Tracking", tracking.tables),
        "linking": ("Links and traces", linking.tables),
        "report": ("The report", report.tables),
        "command": ("Command line", command_line),
    }
    if unknown := sorted({*chosen} - {*tables}):
        sys.exit(f"no such benchmark: {', '.join(unknown)}; expected: {', '.join(tables)}")
    _, *before = PAGE.read_text().split("\n## ") if PAGE.exists() else [""]
    parts = dict(part.split("\n", 1) for part in before)
    for name, (title, table) in tables.items():
        if name in (chosen or tables):
            lines = [""]
            for line in table():
                print(line, flush=True)
                lines.append(line)
            parts[title] = "\n".join(lines) + "\n"
            sections = (f"\n## {known}\n{parts[known]}" for known, _ in tables.values() if known in parts)
            PAGE.write_text(head + "".join(sections))  # after each: a benchmark that fails loses no other


if __name__ == "__main__":
    main(sys.argv[1:])
