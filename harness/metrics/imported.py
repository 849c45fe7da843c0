"""A score that another tool gave each sample, from its log (`harness import`): the score of a run is their mean.

It is a column of numbers as any other (metrics/column.py), marked by the tool that computed it: runs of the same score
from different tools are not comparable.

>>> metric = Imported("imported.acc", "acc", "lm-eval")
>>> metric.score_names, dict(metric.signature([[]]).definition)
(('acc',), {'imported': 'lm-eval', 'score': 'acc'})
"""

from __future__ import annotations

from harness.metrics.column import Column


class Imported(Column):
    plain = ("field", "name", "tool", "score", "higher_is_better", "version")

    def __init__(
        self,
        field: str,
        name: str,
        tool: str,
        score: str | None = None,
        higher_is_better: bool = True,
        version: str | None = None,
    ) -> None:
        """`tool`: whose score it is, in this `version` of it; `score`: what it is called there; None: as here."""
        super().__init__(field, name, higher_is_better)
        self.tool, self.tool_score, self.tool_version = tool, score or name, version

    def definition(self) -> dict[str, str]:
        return {"imported": self.tool, "score": self.tool_score}

    def provenance(self) -> dict[str, str]:
        return {"version": self.tool_version} if self.tool_version else {}
