"""Plug-ins are built from their options, which are checked before."""

from __future__ import annotations

from typing import Any

import pytest

from harness.inputs import plugins
from harness.types import HarnessError


class Plugin:
    def __init__(self, size: int, names: list[str] | None = None, rate: float = 0.5, on: bool = False) -> None:
        self.size = size


HERE = f"{__name__}.Plugin"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"size": 1, "nmaes": []}, "x.nmaes is not an option (did you mean 'names'?); x has: size, names, rate, on"),
        ({}, "x.size is not set; expected x.size=…"),
        ({"size": "big"}, "x.size is 'big'; expected a whole number"),
        ({"size": [1, 2]}, "x.size is [1, 2]; expected a whole number, or for a run with each: --multirun x.size=1,2"),
        ({"size": [1, "b"]}, "x.size is [1, 'b']; expected a whole number"),
        ({"size": []}, "x.size is []; expected a whole number"),
        ({"size": 1, "names": [None]}, "x.names is [None]; expected a list of texts or null"),
        ({"size": True}, "x.size is True; expected a whole number"),
        ({"size": 1, "names": "a"}, "x.names is 'a'; expected a list of texts or null, as 'x.names=[a]'"),
        ({"size": 1, "names": [1]}, "x.names is [1]; expected a list of texts or null"),
        ({"size": 1, "rate": "x"}, "x.rate is 'x'; expected a number"),
        ({"size": 1, "on": 1}, "x.on is 1; expected true or false"),
    ],
)
def test_options_are_checked(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        plugins.build(HERE, options, "x")
    assert str(raised.value) == expected


def test_good_options_and_bad_targets() -> None:
    assert plugins.build(HERE, {"size": 3, "names": ["a"], "rate": 1, "on": True}, "x").size == 3
    assert plugins.build("harness.datasets.text.TextDataset", {"references": 2024}, "x").references == ["2024"]
    for target in ("harness.metrics.blue.Blue", "harness.metrics.bleu.Blue", "Bleu"):
        with pytest.raises(HarnessError, match=f"x._target_={target} cannot be imported"):
            plugins.build(target, {}, "x")
