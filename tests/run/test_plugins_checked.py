"""What authors of plug-ins get wrong is said in one message, before anything is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.test_runner import Cli

PARTS = """
import numpy as np
from harness.types import Dataset, Example, Metric, Output, System


class Data(Dataset):
    name = "mine"

    def examples(self):
        return iter({examples})


class Mine(System):
    {name}

    def generate(self, batch):
        return {outputs}


class Length(Metric):
    name, columns, score_names = "length", ("words", "count"), ("length",)

    def statistics(self, batch):
        return np.array([[len(text.split()), 1.0] for text in batch.outputs])

    def score(self, sums):
        return {score}
"""
GOOD = {
    "examples": '[Example("a", "x", ("y",)), Example("b", "x y", ["y"])]',
    "name": 'name = "mine"',
    "outputs": "[Output(example.source) for example in batch]",
    "score": "sums[..., :1] / sums[..., 1:]",
    "yaml": "length:\n  _target_: mine.Length\n",
}


def run(folder: Path, cli: Cli, parts: dict[str, str], module: str) -> tuple[int, str]:
    conf = folder / "conf"
    target = {"dataset": "Data", "system": "Mine"}
    for group, name in target.items():
        (conf / group).mkdir(parents=True)
        (conf / group / "mine.yaml").write_text(f"_target_: {module}.{name}\n")
    (conf / "metrics").mkdir()
    (conf / "metrics" / "length.yaml").write_text(parts["yaml"].replace("mine.", f"{module}."))
    (folder / f"{module}.py").write_text(PARTS.format(**parts))
    called = cli("run", "--config-dir=conf", "dataset=mine", "system=mine", "metrics=length", "tracking=none")
    return called.code, called.err


def test_parts_that_are_right(tmp_path: Path, cli: Cli) -> None:
    assert run(tmp_path, cli, GOOD, "good_parts") == (0, "")


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("examples", '[Example("a", "x", ()), Example("a", "z", ())]', "example 2 of the data set mine has the id 'a', which an earlier one has; expected unique ids"),
        ("examples", "[Example(1, 'x', ())]", "example 1 of the data set mine has the id 1; expected a text"),
        ("examples", "[Example('a', 'x', 'ref')]", "example 1 of the data set mine: 'references' is 'ref'; expected a tuple of texts"),
        ("examples", "[Example('a', 'x', (3,))]", "example 1 of the data set mine: 'references' is int '3'; expected a string"),
        ("examples", "[Example('a', 'x', ('r',), contexts=['c', 3])]", "example 1 of the data set mine: 'contexts', number 2, is int '3'"),
        ("examples", "[{'id': 'a'}]", "example 1 of the data set mine is of the type dict; expected harness.types.Example"),
        ("name", "pass", "system: {module}.Mine has no name; expected a text as its attribute `name`"),
        ("outputs", "[example.source for example in batch]", "the system mine gave an output of the type str; expected harness.types.Output"),
        ("outputs", "[]", "the system mine gave 0 outputs for a batch of 2; expected one harness.types.Output for each example"),
        ("score", "sums[..., 0] / sums[..., 1]", "length gave scores of shape () for sums of shape (2,); expected (1,), one for each of its score_names"),
        ("yaml", "_target_: mine.Length\n", "metrics has a _target_ but no name above it; expected a top key in the metric's YAML"),
    ],
)  # fmt: skip
def test_parts_that_are_wrong(
    part: str, content: str, message: str, tmp_path: Path, cli: Cli, request: pytest.FixtureRequest
) -> None:
    module = f"wrong_parts_{abs(hash(request.node.name))}"
    code, error = run(tmp_path, cli, {**GOOD, part: content}, module)
    assert code == 1
    assert error.startswith(f"harness: {message.format(module=module)}")
    assert "Traceback" not in error
