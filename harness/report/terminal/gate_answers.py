"""What a gate answers, for a terminal and, as Markdown, for the summary of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from harness.inputs.visible import in_line
from harness.report.tables.markdown import escaped
from harness.report.terminal.layout import Columns, show
from harness.report.terminal.summary import console

STYLES = {"better": "green", "not worse": "green", "worse": "red", "cannot tell": "yellow"}
NO_MARGIN = "better, or worse"
"""What can be asked of a score without a margin."""
KEPT = {"not worse": "kept", "worse": "not kept"}
"""What limits and floors are called, which compare nothing."""
HEADS = ("data set", "score", "asked", "verdict", "because")


def print_gate(gated: Any) -> None:
    """A line for each thing that was asked, then what they come to."""
    out = console()
    columns = Columns(*((head, "left") for head in HEADS))
    narrow = Columns(("score", "left"), ("asked", "left"), ("verdict", "left"))
    for check in gated.checks:
        dataset, what, asked, verdict, reason = cells(check, gated)
        shown = Text(verdict, STYLES[check.verdict])
        columns.add_row(dataset, what, asked, shown, reason)
        narrow.add_row(named_in(check, gated), asked, shown)
        narrow.add_row("", "  " + reason, "", style="dim")
    show(out, columns, narrow)
    out.print()
    out.print(Text(in_line(sentence(gated)), STYLES[gated.verdict]))
    if how := rule(gated):
        out.print(how, style="dim")


def written(gated: Any, runs: Sequence[str], baselines: Sequence[str]) -> str:
    """The same as Markdown."""
    lines = [f"### {escaped(', '.join(runs))} against {escaped(', '.join(baselines))}: {gated.verdict}", ""]
    lines += [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    for check in gated.checks:
        dataset, what, asked, verdict, reason = map(escaped, cells(check, gated))
        lines.append(f"| {dataset} | {what} | {asked} | **{verdict}** | {reason} |")
    return "\n".join(
        [*lines, *(part for text in (sentence(gated), rule(gated)) if text for part in ("", escaped(text))), ""]
    )


def sentence(gated: Any) -> str:
    """What the checks come to, in words."""
    by_verdict: dict[str, dict[str, None]] = {}
    for check in gated.checks:
        by_verdict.setdefault(check.verdict, {})[named_in(check, gated)] = None
    if gated.verdict == "worse":
        return f"Worse: {', '.join(by_verdict['worse'])}."
    if gated.verdict == "cannot tell":
        counted = {None: "neither a pass nor a failure", "pass": "counted as a pass", "fail": "counted as a failure"}
        return f"Cannot tell: {', '.join(by_verdict['cannot tell'])}; {counted[gated.on_unknown]}."
    better = f"better: {', '.join(by_verdict['better'])}" if "better" in by_verdict else ""
    return f"Passed{'; ' + better if better else ': not worse in anything that was asked'}."


def rule(gated: Any) -> str:
    """How it was decided; nothing where there are limits and floors only."""
    if not any(check.row is not None for check in gated.checks):
        return ""
    alpha = 100 * (1 - gated.level)
    over = "" if gated.correction == "none" else f", adjusted over all scores ({gated.correction})"
    unanswered = any(check.asked == NO_MARGIN for check in gated.checks)
    without = " Without a margin, only better and worse can be told." if unanswered else ""
    return (
        f"Not worse: one-sided at {alpha:g} %, each by itself, since all must pass. "
        f"Better, worse: at {alpha:g} %{over}.{without}"
    )


def named(check: Any) -> str:
    """`BLEU`, `BLEU (domain=legal)`, `health/empty`"""
    name = check.title or check.what
    return f"{name} ({check.slice})" if check.slice else str(name)


def named_in(check: Any, gated: Any) -> str:
    """The same with its data set, where several are asked about: `BLEU of dev`."""
    only = len({place(each, gated) for each in gated.checks}) == 1
    return named(check) if only else f"{named(check)} of {place(check, gated)}"


def place(check: Any, gated: Any) -> str:
    """The data set; where several runs are on it, with the run."""
    systems = {other.system for other in gated.checks if other.dataset == check.dataset}
    return f"{check.dataset} ({check.system})" if len(systems) > 1 else str(check.dataset)


def cells(check: Any, gated: Any) -> tuple[str, str, str, str, str]:
    """Data set, score, what was asked, the answer, and why."""
    more = f"; {check.needed:,} {check.row.unit} would tell" if check.needed and check.row is not None else ""
    verdict = check.verdict if check.row is not None else KEPT.get(check.verdict, check.verdict)
    return place(check, gated), named(check), check.asked, verdict, check.reason + more
