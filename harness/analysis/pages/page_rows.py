"""What a page of a data set opens with: the pair of runs and the score looked at first, the rows that it holds, and
those that come with their alignment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.report.page.examples import Opening, Rows, columns
from harness.report.page.scores import lower_is_better, score_names
from harness.types import Array, Group


def opening(group: Group, most: int | None) -> Opening:
    """`most`: how many rows the page may hold, all where None."""
    pair, score = first_view(group)
    return Opening(pair, score, kept_rows(group, most))


def first_view(group: Group) -> tuple[tuple[int, int], str | None]:
    """((a, b), score): the best run against the baseline, or against the next best, by the first headline score."""
    names = [name for name in score_names(group) if "." not in name]
    if not names:
        return (0, min(1, len(group.runs) - 1)), None
    sign = -1.0 if lower_is_better(group, names[0]) else 1.0

    def value(i: int) -> float:
        score = group.runs[i].scores.get(names[0])
        return -np.inf if score is None or score.estimate is None else sign * score.estimate

    order = sorted(range(len(group.runs)), key=lambda i: -value(i))
    if group.baseline is not None:
        base = [run is group.baseline for run in group.runs].index(True)
        return (next(i for i in order if i != base), base), names[0]
    return (order[0], order[min(1, len(order) - 1)]), names[0]


def kept_rows(group: Group, most: int | None) -> Rows:
    """Which rows the page holds: all, or where there are too many, half of them the biggest differences of the first
    view's pair and half evenly from the rest; in the data's order."""
    n = group.runs[0].table.num_rows
    if most is None or n <= most:
        return np.arange(n)
    (a, b), score = first_view(group)
    values = columns(group, score) if score else [np.zeros(n)] * len(group.runs)
    difference = np.nan_to_num(np.abs(values[a] - values[b]), nan=-1.0)
    biggest = np.argsort(-difference, kind="stable")[: most // 2]
    rest = np.setdiff1d(np.arange(n), biggest)
    even = rest[np.linspace(0, len(rest) - 1, most - len(biggest)).round().astype(int)]
    return np.union1d(biggest, even)


def extremes(columns: Sequence[Array], pair: Sequence[int], n: int) -> list[int]:
    """Rows of the n biggest wins and the n biggest losses of the pair's first run by one score; where the two are the
    same run, of its n best and n worst examples."""
    a, b = columns[pair[0]], columns[pair[1]]
    difference = a if pair[0] == pair[1] else a - b
    known = np.flatnonzero(~np.isnan(difference))
    order = known[np.argsort(difference[known], kind="stable")]
    return sorted({int(i) for i in (*order[:n], *order[max(len(order) - n, 0) :])})
