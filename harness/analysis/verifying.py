"""Are the numbers of a paper those of its runs? Every number of every table that `harness table` wrote is made again
from the stored rows and compared digit by digit; so are marks, macros, and numbers of prose that name their run.

A table carries a line that says what it was made of (harness/report/tables/traced.py), CSV the same in its columns.
In prose, `4.12<!-- harness: dev-sysA bleu -->` marks the number before it in Markdown and HTML; in LaTeX,
`\\harness{dev-sysA}{bleu}` prints one of `harness table --macros`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.analysis.groups import merged
from harness.analysis.loading import find_run, load_run
from harness.analysis.tabulate import Layout, Tabulated, tabulated
from harness.analysis.trust import Trusted
from harness.inputs import table_text
from harness.inputs.choices import METHODS
from harness.inputs.project import runs_folder
from harness.inputs.table_text import TableCell, TableRow
from harness.report.tables import macros, traced
from harness.report.tables.cells import number
from harness.stats import intervals
from harness.stats.design import Design
from harness.stats.options import ComparisonOptions, Options
from harness.store.records import records
from harness.types import HarnessError, RunResult, Score

PROSE = re.compile(r"(-?\d+(?:\.\d+)?)(?:\*\*|[†‡%\s])*<!--\s*harness:\s*(\S+)\s+(\S+?)\s*-->")
NEAR = 1e-9
"""How far a stored score may be from that of its rows, of its size: sums on other machines."""


@dataclass(frozen=True)
class Finding:
    """What is not as its run has it."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass
class Verified:
    findings: list[Finding] = field(default_factory=list)
    tables: int = 0
    numbers: int = 0
    """That were compared."""


def verify(files: Sequence[str | Path], runs: str | Path | None = None, trust: Trusted = False) -> Verified:
    """`runs`: where run folders are looked for (default: runs/, and beside each file)."""
    verified = Verified()
    for file in files:
        text = _read(Path(file))
        places = [Path(runs)] if runs else [runs_folder(), Path(file).parent]
        paper = _Paper(str(file), text, _Runs(places, trust), verified)
        if Path(file).suffix == ".csv":
            paper.check_csv()
        else:
            paper.check()
    return verified


def beside(name: str, text: str, made: Tabulated) -> Verified:
    """A table of a document beside the same made again of runs that are known, whatever runs the document names."""
    verified = Verified()
    paper = _Paper(name, text, _Runs([], False), verified)
    if made.layout.format == "csv":
        paper.compare_csv(list(csv.DictReader(io.StringIO(text))), made)
    else:
        for line, _ in traced.blocks(text)[:1]:
            paper.check_block(line, made)
    if not verified.numbers:
        paper.say(1, 1, "no number of the runs' table")
    return verified


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"{file}: {reason}; expected a document with a table of harness table") from None


class _Runs:
    """Finds the runs that a document names, and scores their rows again."""

    def __init__(self, places: Sequence[Path], trust: Trusted) -> None:
        self._places, self._trust = places, trust
        self._known: dict[str, RunResult] = {}

    def named(self, name: str) -> RunResult:
        """The newest run of that name."""
        folder = next((path for place in self._places if (path := self._newest(place, name))), None)
        return self._loaded(folder or find_run(name))

    def traced(self, trace: Mapping[str, Any]) -> RunResult | None:
        """The run of a table's line: by its folder and key, else by its key; None where it is gone."""
        if trace.get("members"):
            parts = [self._folder({"folder": member}) for member in trace["members"]]
            if any(part is None for part in parts):
                return None
            (group,) = merged(str(trace["run"]), [self._loaded(part) for part in parts if part])
            return group
        folder = self._folder(trace)
        return None if folder is None else self._loaded(folder)

    def _folder(self, trace: Mapping[str, Any]) -> Path | None:
        name = str(trace.get("folder", ""))
        ends = [name, name.partition("/")[2]] if "/" in name else [name]
        for place in self._places:
            for end in filter(None, ends):
                for folder in (place / end, place.parent / end, Path(end)):
                    if (folder / "manifest.json").exists():
                        return folder
        for place in self._places:
            for run in records(place) if place.is_dir() else ():
                if trace.get("key") and str(run.manifest.get("key", "")).startswith(str(trace["key"])):
                    return run.path
        return None

    @staticmethod
    def _newest(place: Path, name: str) -> Path | None:
        same = [run for run in (records(place) if place.is_dir() else ()) if name in (run.name, run.path.name)]
        return max(same, key=lambda run: run.ended).path if same else None

    def _loaded(self, folder: Path) -> RunResult:
        key = str(folder.resolve())
        if key not in self._known:
            self._known[key] = load_run(folder, self._trust)
        return self._known[key]


def _scored_again(run: RunResult) -> tuple[RunResult, list[str]]:
    """(the run with the scores that its rows give, what differs from those that are stored)."""
    if run.path is None or not run.statistics:
        return run, []
    stats = run.manifest.get("config", {}).get("stats") or {}
    method = stats.get("method")
    first = next(iter(run.scores.values()))
    seed = int(run.manifest.get("seed") or 0)
    options = Options(
        first.resamples, first.level, method if method in METHODS else "auto", seed, units=stats.get("units") or "auto"
    )
    made = intervals.scores(list(run.statistics.values()), Design.of_run(run, seed), options)
    different = []
    for name, score in made.items():
        stored = run.scores.get(name)
        for what in ("estimate", "low", "high") if stored else ():
            old, new = getattr(stored, what), getattr(score, what)
            if not _near(old, new):
                different.append(f"{name}: scores.json has the {what} {old}, its rows give {new}")
                break
    return replace(
        run, scores={name: _numbers_of(score, made.get(name)) for name, score in run.scores.items()}
    ), different


def _numbers_of(stored: Score, made: Score | None) -> Score:
    if made is None:
        return stored
    return replace(stored, estimate=made.estimate, low=made.low, high=made.high)


def _near(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is None and new is None
    return math.isclose(old, new, rel_tol=NEAR, abs_tol=NEAR)


@dataclass
class _Paper:
    file: str
    text: str
    runs: _Runs
    verified: Verified

    def say(self, line: int, column: int, message: str) -> None:
        self.verified.findings.append(Finding(self.file, line, column, message))

    def check(self) -> None:
        before = self.verified.tables, self.verified.numbers
        for line, trace in traced.blocks(self.text):
            made = self._made(line, trace)
            if made is not None:
                self.check_block(line, made)
        self._check_prose()
        if before == (self.verified.tables, self.verified.numbers) and not self.verified.findings:
            raise HarnessError(
                f"{self.file} has nothing that can be traced to a run; expected a table of harness table with its "
                "comments, or numbers marked as docs/verifying.md says"
            )

    # ------------------------------------------------------------ tables

    def _made(self, line: int, trace: Mapping[str, Any]) -> Tabulated | None:
        """The table again, of runs whose rows were scored again; None where that cannot be had."""
        ready: list[RunResult] = []
        wanted = [*trace.get("runs", ()), *([trace["baseline"]] if trace.get("baseline") else [])]
        for part in wanted:
            run = self.runs.traced(part)
            if run is None:
                self.say(line, 1, f"the run {part.get('run')} ({part.get('folder')}) is missing; expected its folder")
                return None
            stored = str((run.manifest.get("files") or {}).get("scores.json", ""))[:16]
            if part.get("scores") and stored != part["scores"]:
                self.say(line, 1, f"the run {part.get('run')} was evaluated again since the table was made (stale)")
            again, different = _scored_again(run)
            for message in different[:1]:
                self.say(line, 1, f"{run.path}: {message}")
            ready.append(again)
        base = ready.pop() if trace.get("baseline") else None
        known = {each.name for each in fields(Layout)}
        how = {"digits": "metric", **trace.get("layout", {})}  # which tables did not say before 0.2.0
        layout = Layout(**{name: value for name, value in how.items() if name in known})
        layout = replace(layout, names=tuple((str(a), str(b)) for a, b in layout.names))
        scores = trace.get("scores")
        options = ComparisonOptions(**trace.get("options", {}), scores=None if scores is None else tuple(scores))
        if base is not None:
            base = next((run for run in ready if run.path and run.path == base.path), base)
        return tabulated(ready, base, layout, options)

    def check_block(self, line: int, made: Tabulated) -> None:
        """The table beside its comment in this line, beside the same made again."""
        if macros.DEFINED.search(self.text):
            return self._check_macros(made)
        if made.layout.format == "latex":
            here, there = table_text.below, table_text.latex
            made_lines = table_text.below(made.text(), 0)[0]
        else:
            here, there = table_text.above, table_text.markdown
            text = made.text()
            made_lines = table_text.above(text, len(text.splitlines()) + 1)[0]
        lines, first = here(self.text, line)
        if not lines:
            return self.say(line, 1, "the comment of a table has no table beside it")
        self.verified.tables += 1
        self._compare(there(lines, first), there(made_lines, 1))
        return None

    def _compare(self, rows: Sequence[TableRow], expected: Sequence[TableRow]) -> None:
        heads = [cell.text for cell in expected[0].cells]
        columns = [heads.index(cell.text) if cell.text in heads else None for cell in rows[0].cells]
        for cell, place in zip(rows[0].cells, columns, strict=True):
            if place is None:
                self.say(cell.line, cell.column, f"no column {cell.text!r} in the runs' table; expected one of {heads}")
        labels = 1 + (len(heads) > 1 and heads[0] == "Data set")
        by_name = dict(_by_name(expected[1:], labels))
        for name, row in _by_name(rows[1:], labels):
            if name not in by_name:
                first = row.cells[0]
                self.say(first.line, first.column, f"no run of the table is called {name[-2]!r}")
                continue
            for cell, place in zip(row.cells[labels:], columns[labels:], strict=False):
                if place is not None and place < len(by_name[name].cells):
                    self._compare_cell(cell, by_name[name].cells[place], f"{heads[place]} of {name[-2]}")

    def _compare_cell(self, cell: TableCell, expected: TableCell, what: str) -> None:
        seen, wanted = table_text.numbers(cell), table_text.numbers(expected)
        for (text, column), (right, _) in zip(seen, wanted, strict=False):
            self.verified.numbers += 1
            if text != right:
                self.say(cell.line, column, f"{text}, where the run has {right} ({what})")
        if len(seen) != len(wanted):
            self.say(cell.line, cell.column, f"{cell.text!r}, where the run has {expected.text!r} ({what})")
        (bold, dagger), (right_bold, right_dagger) = table_text.marks(cell), table_text.marks(expected)
        if bold != right_bold:
            says = (
                ("is bold", "the tests do not say so") if bold else ("is not bold", "the tests say it is of the best")
            )
            self.say(cell.line, cell.column, f"{cell.text!r} {says[0]}; {says[1]} ({what})")
        if dagger != right_dagger:
            shown = right_dagger or "no mark"
            self.say(
                cell.line, cell.column, f"{cell.text!r} has {dagger or 'no mark'}; the tests give {shown} ({what})"
            )

    # ------------------------------------------------------------ macros, prose

    def _check_macros(self, made: Tabulated) -> None:
        self.verified.tables += 1
        right = {(run, name): value for run, name, value in macros.DEFINED.findall(made.macros())}
        for line, text in enumerate(self.text.splitlines(), 1):
            for match in macros.DEFINED.finditer(text):
                run, name, value = match.groups()
                self.verified.numbers += 1
                if (run, name) not in right:
                    self.say(line, match.start() + 1, f"{name} of {run} is of no run of the table")
                elif right[run, name] != value:
                    self.say(
                        line, match.start(3) + 1, f"{value}, where the run has {right[run, name]} ({name} of {run})"
                    )

    def _check_prose(self) -> None:
        for line, text in enumerate(self.text.splitlines(), 1):
            for match in PROSE.finditer(text):
                digits = len(match[1].partition(".")[2])
                self._check_number(line, match.start() + 1, match[1], (match[2], match[3]), digits)
            if Path(self.file).suffix == ".tex" and not text.lstrip().startswith(("%", r"\providecommand")):
                for match in macros.USED.finditer(text):
                    self._check_number(line, match.start() + 1, None, (match[1], match[2]), 0)

    def _check_number(self, line: int, column: int, text: str | None, which: tuple[str, str], digits: int) -> None:
        name, score = which
        try:
            run, _ = _scored_again(self.runs.named(name))
        except HarnessError as error:
            return self.say(line, column, f"the run {name} is missing ({error})")
        base, _, end = score.rpartition(".") if score.endswith((".low", ".high")) else (score, "", "estimate")
        if base not in run.scores:
            return self.say(
                line, column, f"the run {name} has no score {base}; expected one of {', '.join(run.scores)}"
            )
        value = getattr(run.scores[base], end)
        self.verified.numbers += 1
        right = "n/a" if value is None else number(value, digits)
        if text is not None and text != right:
            self.say(line, column, f"{text}, where the run has {right} ({score} of {name})")
        return None

    # ------------------------------------------------------------ CSV

    def check_csv(self) -> None:
        rows = list(csv.DictReader(io.StringIO(self.text)))
        if not rows or "folder" not in rows[0] or "key" not in rows[0]:
            raise HarnessError(
                f"{self.file} is no table of harness table --format csv; expected its columns folder and key"
            )
        made = self._made(2, _trace_of(rows))
        if made is not None:
            self.compare_csv(rows, made)

    def compare_csv(self, rows: Sequence[Mapping[str, str]], made: Tabulated) -> None:
        """Rows of a CSV table beside those of the same made again."""
        self.verified.tables += 1
        scores = [column.score for column in made.shown.columns]
        expected = list(csv.DictReader(io.StringIO(made.text())))
        by_name = {(row["dataset"], row["system"]): row for row in expected}
        for line, row in enumerate(rows, 2):
            right = by_name.get((row["dataset"], row["system"]))
            if right is None:
                self.say(line, 1, f"no run of the table is called {row['system']!r}")
                continue
            for place, (name, text) in enumerate(((name, text or "") for name, text in row.items()), 1):
                if name in right and _is_result(name, scores):
                    self._compare_field(line, place, (name, text), right[name])

    def _compare_field(self, line: int, place: int, cell: tuple[str, str], right: str) -> None:
        name, text = cell
        self.verified.numbers += 1
        shown = right
        if text and right and text not in ("True", "False") and "." in text and name[-12:] != "_vs_baseline":
            digits = len(text.partition(".")[2])
            shown = right if len(right.partition(".")[2]) <= digits else number(float(right), digits)
        if text != shown and not (_number(text) is not None and _near(_number(text), _number(right))):
            self.say(line, place, f"{text or 'nothing'}, where the run has {shown or 'nothing'} ({name})")


def _by_name(rows: Sequence[TableRow], labels: int) -> Iterator[tuple[tuple[str, ...], TableRow]]:
    """Each row by (data set and) name, and how often that came before; a row without a name is of the one above."""
    last: list[str] = [""] * labels
    times: dict[tuple[str, ...], int] = {}
    for row in rows:
        own = [cell.text for cell in row.cells[:labels]]
        last = [text or before for text, before in zip(own, last, strict=False)] if any(own) else last
        place = times[tuple(last)] = times.get(tuple(last), -1) + 1
        yield (*last, str(place)), row


def _is_result(name: str, scores: Sequence[str]) -> bool:
    return any(
        name == score or name in {f"{score}_{end}" for end in ("low", "high", "half_width", "best", "vs_baseline")}
        for score in scores
    )


def _trace_of(rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """What a CSV table was made of, from its columns."""
    first = rows[0]
    scores = [name.removesuffix("_signature") for name in first if name.endswith("_signature")]
    bounded = any(name.endswith("_low") for name in first)
    runs = [{"run": row["run"], "folder": row["folder"], "key": row["key"]} for row in rows]
    against = [name for name in first if name.endswith("_vs_baseline")]
    alone = [run for run, row in zip(runs, rows, strict=True) if against and not any(row[name] for name in against)]
    interval = "bounds" if bounded else "plus-minus" if any(n.endswith("_half_width") for n in first) else "none"
    options: dict[str, Any] = {"test": first["test"], "correction": first["test_correction"]}
    options |= {"level": float(first["test_level"]), "resamples": int(first["test_resamples"])}
    return {
        "runs": runs,
        "baseline": alone[0] if alone else None,
        "scores": scores,
        "layout": {"format": "csv", "interval": interval},
        "options": {**options, "seed": int(first["test_seed"])},
    }


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
