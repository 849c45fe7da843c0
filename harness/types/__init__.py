"""The nouns of the harness and the seams between its rooms.

Everything flows one way: a `Dataset` yields `Example`s, a `System` turns them into `Output`s, a `Metric` turns outputs
into rows of summable statistics, and a score is a function of the sum of rows. This module imports nothing local and
nothing heavy, so that every room can import it and no room needs another.

>>> import numpy as np
>>> class Length(Metric):
...     name, columns, score_names = "length", ("words", "count"), ("length",)
...     def statistics(self, batch):
...         return np.array([[len(text.split()), 1.0] for text in batch.outputs])
...     def score(self, sums):
...         return sums[..., :1] / sums[..., 1:]
>>> Length().score(Length().statistics(Batch(["a b", "c"], [])).sum(0)).tolist()
[1.5]
"""

from __future__ import annotations

from harness.types.admission import Gate
from harness.types.context_forms import ContextFault
from harness.types.contexts import Contexts
from harness.types.curves import Checkpoint, Curve, Trend
from harness.types.engine import Engine, Recipe
from harness.types.errors import HarnessError, check_choice, check_least, check_number, nearest
from harness.types.lists import Integers, Lists, Rows
from harness.types.metric import Arrays, Metric
from harness.types.nouns import (
    Advance,
    Alignment,
    Array,
    Context,
    Example,
    Output,
    Score,
    Signature,
    bound_name,
    nothing,
    titled,
)
from harness.types.results import RunRecord, RunRecords, RunResult, RunResults, Slice, Statistics, dropped
from harness.types.seams import BlockDataset, Cache, Dataset, Progress, Step, System, Systems
from harness.types.side_by_side import Comparison, Comparisons, Figure, Group, Interaction, Study
from harness.types.text_columns import ABSENT, BLOCK, IMPORTED, PASSAGES, Batch, Examples, Outputs, joined_columns
from harness.types.texts import TextLists, Texts, text_fault
from harness.types.tracker import Outcome, Tracked, Tracker

__all__ = [
    "ABSENT", "BLOCK", "IMPORTED", "PASSAGES", "Advance", "Alignment", "Array", "Arrays", "Batch", "BlockDataset",
    "Cache", "Checkpoint", "Comparison", "Comparisons", "Context", "ContextFault", "Contexts", "Curve", "Dataset",
    "Engine", "Example", "Examples", "Figure", "Gate", "Group", "HarnessError", "Integers", "Interaction", "Lists",
    "Metric", "Outcome", "Output", "Outputs", "Progress", "Recipe", "Rows", "RunRecord", "RunRecords", "RunResult",
    "RunResults", "Score", "Signature", "Slice", "Statistics", "Step", "Study", "System", "Systems", "TextLists",
    "Texts", "Tracked", "Tracker", "Trend", "bound_name", "check_choice", "check_least", "check_number", "dropped",
    "joined_columns", "nearest", "nothing", "text_fault", "titled",
]  # fmt: skip
