"""The description on a run's page: its scores with their intervals, in Markdown.

Names and warnings come from outside: what Markdown or HTML would take as its own is escaped, so that they stay text.
"""

from __future__ import annotations

import re

from harness.types import RunResult, Score
from harness.types.shown import counted

MAX_NOTE = 8000
_SPECIAL = re.compile(r"[\\`*_{}\[\]()#+!~]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
FIRST = 6
"""Headline scores in the first line: the page shows little more until it is opened."""


def description(run: RunResult, shown: int, rows: int) -> str:
    """At most MAX_NOTE characters, headline scores first; `shown` of `rows` examples are in MLflow's evaluation view.

    What does not fit is left out by whole rows, and it is said how many and where they are.
    """
    scores = sorted(run.scores.values(), key=lambda score: not score.headline)
    parts = [" · ".join(_brief(score) for score in scores[:FIRST] if score.headline), _count(run)]
    parts += ["\n".join(f"- {escaped(warning[:500])}" for warning in run.health.get("warnings", ())[:8])]
    level = f"{100 * scores[0].level:g}% interval" if scores else "interval"
    head = [_line("score", "estimate", level), "| :--- | ---: | :--- |"]
    table = [_row(score) for score in scores]
    notes = [f"- {escaped(score.name)}: {escaped(score.note[:200])}" for score in scores if score.note]
    metrics = run.manifest["metrics"].items()
    signatures = [f"- {escaped(name)}: `{_code(metric['signature'])}`" for name, metric in metrics]
    part = f"the first {shown:,} of {rows:,}" if shown < rows else "as a table"
    last = f"Examples: {part} in `eval_results_table.json` (MLflow's evaluation view), all in `examples.parquet`."
    whole = _paragraphs(*parts, "\n".join([*head, *table]), "\n".join([*notes, *signatures]), last)
    if len(whole) <= MAX_NOTE:
        return whole
    for kept in range(len(table), 0, -1):  # first notes and signatures go, then the last scores
        left = (
            f"{counted(len(table) - kept, 'more score')}, notes and signatures"
            if kept < len(table)
            else "notes and signatures"
        )
        rest = f"… {left} in the artifact `scores.json`."
        cut = _paragraphs(*parts, "\n".join([*head, *table[:kept]]), rest, last)
        if len(cut) <= MAX_NOTE:
            return cut
    return _paragraphs("The scores are in the artifact `scores.json`.", last)


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: object) -> str:
    r"""A text that Markdown shows as it is, on one line.

    >>> escaped("a|b <i>*c*")
    'a&#124;b &lt;i&gt;\\*c\\*'
    """
    line = " ".join(str(text).split())
    return re.sub(r"[&<>|]", lambda match: _ENTITIES[match[0]], _SPECIAL.sub(r"\\\g<0>", line))


def _code(text: str) -> str:
    """Inside backticks."""
    return " ".join(text.replace("`", "'").split())[:300]


def _brief(score: Score) -> str:
    estimate, interval = _numbers(score)
    return f"**{escaped(score.name)}** {estimate} {interval}".rstrip()


def _row(score: Score) -> str:
    name = f"**{escaped(score.name)}**" if score.headline else escaped(score.name)
    return _line(name, *_numbers(score))


def _numbers(score: Score) -> tuple[str, str]:
    values = (score.estimate, score.low, score.high)
    estimate, low, high = ("" if value is None else f"{value:z,.{score.digits}f}" for value in values)
    return estimate or "n/a", f"[{low},\N{NO-BREAK SPACE}{high}]" if low and high else ""


def _count(run: RunResult) -> str:
    """What was evaluated on what, and how much of it."""
    repeats = run.manifest["system"].get("repeats", 1)
    each = f", {repeats} outputs each" if repeats > 1 else ""
    evaluated = (
        f"{escaped(run.system)} on {escaped(run.dataset)}: {run.manifest['dataset']['examples']:,} examples{each}"
    )
    failed = f", **{run.failed:,} failed**" if run.failed else ", none failed"
    if run.stopped:
        failed += f"; ended after {run.stopped['examples']:,} of {run.stopped['of']:,}"
    return evaluated + failed
