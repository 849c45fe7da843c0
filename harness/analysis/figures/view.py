"""One data set of a study as figures see it: what its runs are called, their order, who leads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from harness.report.charts.theme import WIDTH, plain, short
from harness.report.numbers import digits_of, intervals_by
from harness.report.score_titles import score_titles
from harness.types import Comparison, Curve, Figure, Group, HarnessError, RunResult, Study, nearest


class View:
    """A group of runs with the options of its figures."""

    def __init__(
        self, study: Study, group: Group, scores: Sequence[str] | None = None, width: float | None = None
    ) -> None:
        self.study, self.group, self.width = study, group, width or WIDTH
        names = [run.name for run in group.runs]
        self.titles = score_titles(group.runs)
        self.limit = max(18, int(0.4 * self.width / 6))
        """Characters of a label that leave most of the width to what it labels."""
        shown = short([study.labels.get(name, name) for name in names], self.limit)
        self.labels = dict(zip(names, shown, strict=True))
        datasets = [other.dataset for other in study.groups]
        self.slug = slugs(datasets)[datasets.index(group.dataset)]
        self.scores = self._scores(scores)

    def _scores(self, wanted: Sequence[str] | None) -> list[str]:
        """The headline scores of the runs, or those asked for."""
        known = dict.fromkeys(name for run in self.group.runs for name in run.scores)
        if wanted is None:
            return [name for name in known if "." not in name]
        missing = [name for name in wanted if name not in known]
        if missing:
            raise HarnessError(
                f"no run on {self.group.dataset} has the score {missing[0]!r}{nearest(missing[0], known)}; "
                f"expected one of {', '.join(known)}"
            )
        return list(dict.fromkeys(wanted))

    def figure(self, kind: str, title: str, caption: str, chart: Any) -> Figure:
        return Figure(f"{kind}-{self.slug}", f"{title} on {plain(self.group.dataset)}", caption, chart)

    def title(self, score: str) -> str:
        """As papers print it."""
        return plain(self.titles.get(score, score))

    def higher(self, score: str) -> bool:
        return next(run.scores[score].higher_is_better for run in self.group.runs if score in run.scores)

    def digits(self, score: str) -> int:
        return digits_of(self.group.runs, score)

    def level(self) -> str:
        """Of the runs' own intervals."""
        levels = (score.level for run in self.group.runs for score in run.scores.values())
        return f"{100 * next(levels, self.study.level):g}%"

    def intervals(self) -> str:
        """`95% bootstrap intervals`, or what else those of the shown scores are."""
        known = [run.scores[name] for run in self.group.runs for name in self.scores if name in run.scores]
        return f"{self.level()} {intervals_by(score.method for score in known if score.low is not None)}"

    def ordered(self, score: str) -> list[RunResult]:
        """The runs by a score, the best first, those without one last."""
        sign = -1.0 if self.higher(score) else 1.0

        def place(run: RunResult) -> tuple[bool, float]:
            estimate = run.scores[score].estimate if score in run.scores else None
            return estimate is None, sign * (estimate or 0.0)

        return sorted(self.group.runs, key=place)

    def leading(self, most: int) -> list[RunResult]:
        """As many of the runs as a figure can hold: the best by the first score, and the baseline."""
        if len(self.group.runs) <= most:
            return list(self.group.runs)
        chosen = self.ordered(self.scores[0])[:most]
        base = self.group.baseline
        if base is not None and base not in chosen:
            chosen[-1] = base
        return [run for run in self.group.runs if run in chosen]

    def pairs(self, score: str) -> list[Comparison]:
        return [row for row in self.study.comparisons if (row.dataset, row.score) == (self.group.dataset, score)]

    def curves(self) -> list[Curve]:
        """What the steps of checkpoints say, by the scores of the figure."""
        return [c for c in self.study.curves if c.dataset == self.group.dataset and c.score in self.scores]

    def leaders(self, score: str) -> set[str]:
        """The best run and those not distinguishable from it, by adjusted p; empty where nothing was tested."""
        return set(self.study.leaders.get((self.group.dataset, score), ()))


def slugs(names: Sequence[str]) -> list[str]:
    """The names as parts of file names, each different.

    >>> slugs(["wmt22 de-en", "wmt22/de-en", "…"])
    ['wmt22-de-en', 'wmt22-de-en-2', 'data']
    """
    taken: list[str] = []
    for name in names:
        slug = base = re.sub(r"[^\w.-]+", "-", plain(name)).strip("-.")[:60] or "data"
        again = 1
        while slug in taken:
            again += 1
            slug = f"{base}-{again}"
        taken.append(slug)
    return taken
