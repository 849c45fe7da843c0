"""Numbers of prose beside their runs: `4.12<!-- harness: dev-sysA bleu -->` in Markdown and HTML, and in LaTeX
`\\harness{dev-sysA}{bleu}`, which prints one of `harness table --macros`."""

from __future__ import annotations

import re
from pathlib import Path

from harness.analysis.papers.findings import Document
from harness.analysis.papers.traced_runs import TracedRuns, scored_again
from harness.report.tables import macros
from harness.report.tables.cells import number
from harness.types import HarnessError, nearest

MARK = re.compile(r"<!--\s*harness:(.*?)-->", re.DOTALL)
NUMBER_BEFORE = re.compile(r"(?<![\w.])([-−]?\d[\d,]*(?:\.\d+)?)[*_`†‡%)\]\s]*$")
COMMENT = re.compile(r"(?<!\\)%.*")
DEFINITION = (r"\providecommand", r"\newcommand", r"\renewcommand", r"\def")


def check_prose(page: Document, runs: TracedRuns) -> None:
    """Every marked number of a document."""
    for match in MARK.finditer(page.text):
        _check_mark(page, match, runs)
    if Path(page.file).suffix == ".tex":
        for line, text in enumerate(page.text.splitlines(), 1):
            if not text.lstrip().startswith(DEFINITION):
                for use in macros.USED.finditer(COMMENT.sub("", text)):
                    _check(page, (line, use.start() + 1), None, (use[1], use[2]), runs)


def _check_mark(page: Document, match: re.Match[str], runs: TracedRuns) -> None:
    name, _, score = " ".join(match[1].split()).rpartition(" ")
    if not name:
        return page.say(*page.place(match.start()), f"{match[0]!r}; expected <!-- harness: RUN SCORE -->")
    before = NUMBER_BEFORE.search(page.text[max(0, match.start() - 200) : match.start()])
    if before is None:
        return page.say(*page.place(match.start()), f"no number stands before the mark ({score} of {name})")
    start = max(0, match.start() - 200) + before.start(1)
    return _check(page, page.place(start), before[1], (name, score), runs)


def _check(page: Document, place: tuple[int, int], text: str | None, which: tuple[str, str], runs: TracedRuns) -> None:
    """`text`: as it stands there; None where a macro prints it."""
    name, score = which
    try:
        run, _ = scored_again(runs.named(name))
    except HarnessError as error:
        return page.say(*place, f"the run {name} is missing ({error})")
    base, _, end = score.rpartition(".") if score.endswith((".low", ".high")) else (score, "", "estimate")
    if base not in run.scores:
        known = [score for score in run.scores if "." not in score]
        return page.say(
            *place, f"the run {name} has no score {base}{nearest(base, run.scores)}; expected one of {', '.join(known)}"
        )
    value = getattr(run.scores[base], end)
    page.verified.numbers += 1
    plain = (text or "").replace("−", "-").replace(",", "")
    right = "n/a" if value is None else number(value, len(plain.partition(".")[2]))
    if text is not None and plain != right.replace(",", ""):
        page.say(*place, f"{text}, where the run has {right} ({score} of {name})")
    return None
