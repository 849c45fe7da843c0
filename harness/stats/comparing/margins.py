"""Equivalence and non-inferiority: whether a difference is smaller than one that matters.

"Cannot be told apart" is not "equal": few examples tell nothing apart. With a margin m two further hypotheses are
tested, that the system is worse by m or more, and that it is better by m or more. Where the first is rejected it is
*not worse*; where both are, the two are *equivalent* (two one-sided tests at the stated level, Schuirmann 1987).

The p-values come from the same replicates as everything else, expanded as they are; of scores that are shares of
examples from Tango's score test. They are adjusted over the rows that have a margin, each of the two verdicts as a
family of its own: by Holm's method, whatever the correlations; by Benjamini and Hochberg's, or not at all, where that
was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.stats.comparing.hypotheses import Hypothesis, Tested
from harness.stats.corrections import benjamini_hochberg, holm, share
from harness.stats.expansion import student_tail
from harness.stats.fewness import least_p
from harness.stats.options import ComparisonOptions
from harness.types import Comparison

EQUIVALENT, NOT_WORSE = "equivalent", "not worse"


def margin_p_values(family: Sequence[Tested], options: ComparisonOptions) -> dict[int, tuple[float, float]]:
    """By the place of each comparison that has a margin (the p of `not worse`, the p of `equivalent`), adjusted."""
    some = {i: part for i, part in enumerate(family) if part.row.margin and part.row.difference is not None}
    plain = {i: _p_values(part.row, part.by) for i, part in some.items()}
    if not plain:
        return {}
    not_worse = _adjusted([below for below, _ in plain.values()], options)
    equivalent = _adjusted([max(both) for both in plain.values()], options)
    return dict(zip(plain, zip(not_worse, equivalent, strict=True), strict=True))


def _adjusted(p_values: Sequence[float], options: ComparisonOptions) -> list[float]:
    if options.correction == "none" or not options.margins_adjusted:
        return list(p_values)
    return benjamini_hochberg(p_values) if options.correction == "bh" else holm(p_values)


def _p_values(row: Comparison, by: Hypothesis) -> tuple[float, float]:
    """(of being worse by the margin or more, of being better by it or more)."""
    assert row.margin is not None
    assert row.difference is not None
    sign = 1.0 if row.higher_is_better else -1.0
    distances = (row.margin + sign * row.difference, row.margin - sign * row.difference)
    if row.question == "seeds" and row.standard_error and row.degrees:
        p_below, p_above = (student_tail(distance / row.standard_error, row.degrees) for distance in distances)
        return p_below, p_above
    least = least_p(row.n, sides=1)
    if by.shares is not None:
        below, above = by.shares.p_above(-row.margin), 1 - by.shares.p_above(row.margin)
        return max(below if sign > 0 else above, least), max(above if sign > 0 else below, least)
    if not by.differing and row.standard_error:  # of what could have been
        far = row.margin / row.standard_error
        return (max(student_tail(far, by.expansion.df), least),) * 2
    centred = sign * (by.drawn() - row.difference)
    shares = (share(-centred, distances[0]), share(centred, distances[1]))  # as far as the interval is from the margin
    p_below, p_above = (max(by.expansion.p_value(p, sides=1), least) for p in shares)
    return p_below, p_above
