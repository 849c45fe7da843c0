"""What an experiment can detect: by formula, and by trying it."""

from __future__ import annotations

import numpy as np
import pytest

import harness
from harness.stats.detection import needed, power_of, smallest_detectable
from harness.types import HarnessError
from tests.stats.test_comparison import run


def test_by_the_textbook() -> None:
    """(1.96 + 0.8416) standard errors at 80 % power and 5 %; (1.6449 + 0.8416) for one side."""
    assert smallest_detectable(1.0, 0.95) == pytest.approx(2.8016, abs=1e-3)
    assert smallest_detectable(1.0, 0.95, sides=1) == pytest.approx(2.4865, abs=1e-3)
    assert needed(100, 0.2, 0.2802, 0.95) == 400
    assert power_of(2.8016, 1.0, 0.95) == pytest.approx(0.8, abs=1e-3)
    assert power_of(0.0, 0.0, 0.95) == 0.0


def test_the_number_needed_detects_as_often_as_said() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(100)
    pilot = [run(base, "a"), run(base + rng.normal(0.0, 0.3, 100), "b")]
    (row,) = harness.power(pilot, difference=0.1, resamples=2000)
    assert row.needed == pytest.approx(100 * (2.8 * row.standard_error / 0.1) ** 2, rel=0.02)
    detected = 0
    for _ in range(150):
        values = rng.random(row.needed)
        pair = [run(values, "a"), run(values + rng.normal(0.1, 0.3, len(values)), "b")]
        detected += harness.compare(pair, resamples=300)[0].verdict == "better"
    assert 0.68 <= detected / 150 <= 0.92


def test_clusters_are_the_units() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(80)
    shifted = base + np.repeat(rng.normal(0, 0.1, 20), 4)
    clusters = np.repeat(np.arange(20), 4).tolist()
    (row,) = harness.power([run(base, "a", clusters=clusters), run(shifted, "b", clusters=clusters)], difference=0.02)
    assert (row.n, row.unit) == (20, "clusters by cluster")
    assert row.needed > 100  # type: ignore[operator]


def test_refusals() -> None:
    runs = [run([0.1, 0.5, 0.4], "a"), run([0.2, 0.4, 0.6], "b")]
    with pytest.raises(HarnessError, match="power=80; expected a share between 0 and 1"):
        harness.power(runs, difference=1, power=80)
    with pytest.raises(HarnessError, match="difference=0; expected a difference to detect"):
        harness.power(runs, difference=0)
    assert harness.power(runs)[0].difference == pytest.approx(0.2 / 3)
