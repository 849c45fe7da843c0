"""The files of a new project: the project file, and a metric, a data set kind, an experiment and a test of them."""

from __future__ import annotations

PROJECT = """\
# The project file of harness: read by every command that is called in this folder or below it.
# `harness run` without more words runs what is said here; whatever you type takes its place.
config_dir: conf       # YAML files of your own, in the groups of `harness run --help`; code is found beside them
runs: runs             # where runs are kept
defaults:              # overrides of every `harness run`
  - dataset=faq
  - system=copy        # put yours here: system=column system.field=…, system=huggingface system.model=…, …
  - metrics=[chrf,numbers_kept]
  - stats.seed=12345
  # - tracking.experiment=faq
  # - tracking.uri=https://mlflow.example.org
"""

METRIC_YAML = """\
# harness run 'metrics=[chrf,numbers_kept]'
numbers_kept:                           # the metric's name, in scores and overrides (metrics.numbers_kept.digits=2)
  _target_: numbers_kept.NumbersKept    # module.Class: numbers_kept.py beside this file
  digits: 1                             # numbers of at least so many digits count
"""

METRIC = '''\
"""How many of the source's numbers are in the output, in percent of those that there are."""

import re

import numpy as np

from harness.types import Metric


class NumbersKept(Metric):
    name, score_names = "numbers_kept", ("numbers_kept",)
    columns = ("kept", "numbers")  # what is summed over examples
    needs_references, reads = False, ("sources", "outputs")

    def __init__(self, digits: int = 1):  # options, checked by their types; runs that differ in one are not compared
        self.digits = digits

    def statistics(self, batch):  # a row for each output, (n, 2)
        pairs = zip(batch.sources, batch.outputs)
        return np.array([self.row(source or "", output) for source, output in pairs], dtype=float)

    def row(self, source, output):
        numbers = re.findall(rf"\\d{{{self.digits},}}", source)
        return [sum(number in output for number in numbers), len(numbers)]

    def score(self, sums):  # of summed rows (..., 2), the scores (..., 1)
        with np.errstate(invalid="ignore"):
            return 100 * sums[..., :1] / sums[..., 1:]
'''

DATASET_YAML = """\
# harness run dataset=faq dataset.path=data/faq.txt
# A file of a known form needs no class: dataset=file dataset.path=… (.jsonl, .csv, .parquet).
_target_: faq.Faq                            # faq.py beside this file
path: data/faq.txt                           # from here, or from the project's folder
"""

DATASET = '''\
"""Questions and answers in a text file: a question, its answers below it, an empty line."""

from pathlib import Path

from harness.types import Dataset, Example, HarnessError

PROJECT = Path(__file__).parents[2]  # the folder of harness.yaml


class Faq(Dataset):
    def __init__(self, path: str):
        here = Path(path)  # as you type it, or the project's, from whatever folder of it you call harness in
        self.path, self.name = here if here.is_file() else PROJECT / path, here.stem

    def examples(self):
        if not self.path.is_file():
            raise HarnessError(f"dataset.path={self.path} does not exist; expected a text file")
        blocks = self.path.read_text(encoding="utf-8").strip().split("\\n\\n")
        for number, block in enumerate(blocks, start=1):
            question, *answers = block.splitlines()
            yield Example(str(number), question, tuple(answers), {"words": len(question.split())})
'''

DATA = """\
What time do you open on the 24th of December?
On the 24th of December we open at 9.
At 9.

How long can I return what I bought?
You can return it for 30 days.

Is there a room for 12 people?
There is a room for 12 people, and one for 40.
"""

EXPERIMENT = """\
# @package _global_
# harness run experiment=first
# What belongs together under one name: choices of groups, then single keys.
defaults:
  - override /dataset: faq
  - override /system: copy
  - override /metrics: [chrf, numbers_kept]
name: first
stats:
  resamples: 2000
"""

TEST = '''\
"""pytest: what the plug-ins of conf/ compute, and that the experiment runs. Called in any folder of the project."""

import sys
from pathlib import Path

CONF = Path(__file__).parent.parent / "conf"
sys.path += [str(CONF / "metrics"), str(CONF / "dataset")]  # as `harness run` finds them

from faq import Faq  # noqa: E402
from numbers_kept import NumbersKept  # noqa: E402

import harness  # noqa: E402


def test_the_metric():
    outputs, sources = ["at 9", "soon"], ["at 9 or 10", "in 3"]
    result = harness.evaluate(outputs, [[], []], [NumbersKept()], sources=sources, resamples=0)
    assert round(result.scores["numbers_kept"].estimate, 1) == 33.3
    assert NumbersKept(digits=2).row("at 9 or 10", "at 9") == [0, 1]


def test_the_data():
    examples = list(Faq("data/faq.txt").examples())
    assert [example.id for example in examples] == ["1", "2", "3"]
    assert examples[0].references == ("On the 24th of December we open at 9.", "At 9.")


def test_the_experiment(tmp_path):
    run = harness.run("experiment=first", "tracking=none", "stats.resamples=50", f"output_dir={tmp_path / 'run'}")
    assert run.scores["numbers_kept"].estimate == 100
'''

FILES = {
    "harness.yaml": PROJECT,
    "conf/metrics/numbers_kept.yaml": METRIC_YAML,
    "conf/metrics/numbers_kept.py": METRIC,
    "conf/dataset/faq.yaml": DATASET_YAML,
    "conf/dataset/faq.py": DATASET,
    "conf/experiment/first.yaml": EXPERIMENT,
    "data/faq.txt": DATA,
    "tests/test_plugins.py": TEST,
}
"""By their paths in the new project."""
