"""`system=column system.field=hyp`: outputs that stand beside the data, in a column of their own.

`'system.field=[a,b]'` is two runs. The columns are taken out of the data before anything else is done with it: no
metric, filter or report takes an output for a field, and the same data with other outputs has the same key. Columns
that hold outputs of other systems, evaluated another time, go into `system.others`. A null is a failed example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.inputs import files
from harness.inputs.blocks import Odd, texts_of
from harness.inputs.hashing import Content, hashed, hashed_rows
from harness.inputs.kept import Kept
from harness.systems.prediction_rows import NULL
from harness.systems.predictions import Index, Predictions
from harness.types import ABSENT, Examples, HarnessError, Outputs, Systems, Texts, nearest

TARGET = "harness.systems.column.Column"


class Column(Predictions):
    def __init__(self, field: str | list[str], others: list[str] | None = None, name: str | None = None) -> None:
        """`others`: columns with outputs of other systems, which are no part of the data either."""
        fields = [field] if isinstance(field, str) else field
        if not fields or len(set(fields)) < len(fields):
            raise HarnessError(f"system.field={field}; expected the name of a column, or several that differ")
        super().__init__("", name=name or fields[0])
        self.field, self.others = fields[0], [other for other in others or () if other != fields[0]]
        self.several = None if isinstance(field, str) else Columns(field, self.others, name)
        self._restart()

    def _restart(self) -> None:
        self._read_so_far: Kept[Outputs] = Kept(self._place)
        self._content = Content()

    def taken(self, examples: Examples, dataset: str) -> Examples:
        missing = [name for name in (self.field, *self.others) if name not in examples.metadata]
        if missing and not len(self._read_so_far):
            raise _no_column(missing[0], examples, dataset)
        texts, n = self._texts(examples, dataset), len(examples)
        errors: list[str | None] = [None] * n
        for i in (~texts.present).nonzero()[0].tolist():
            errors[i] = NULL
        self._read_so_far.append(Outputs(texts, Texts.of(errors)))
        self._content.add(hashed_rows(hashed(examples.ids, "id"), hashed(texts, "output")))
        left = {name: c for name, c in examples.metadata.items() if name != self.field and name not in self.others}
        return replace(examples, metadata=left)

    def _texts(self, examples: Examples, dataset: str) -> Texts:
        column: Any = examples.metadata.get(self.field, [ABSENT] * len(examples))
        try:
            return column if isinstance(column, Texts) else texts_of(column)
        except Odd:
            pass
        for id_, value in zip(examples.ids, column, strict=True):
            place = f"the example {id_!r} of {dataset}"
            if value is ABSENT:
                raise HarnessError(f"{place} has no '{self.field}'; expected an output, or null (system.field)")
            if value is not None:
                files.text(value, place, self.field)
        raise AssertionError("columns of texts can be read")

    def align(self, ids: Sequence[str]) -> None:
        self._ids, self._next = Index(Texts.of(ids)), 0
        self._outputs.close()
        self._outputs, self._key = self._read_so_far, files.digest(["column", self._content.key])
        self._restart()

    def key(self) -> str:
        return self._key


class Columns(Systems):
    def __init__(self, fields: Sequence[str], others: Sequence[str], name: str | None) -> None:
        self.fields, self.others, self._named, self.name = fields, others, name, name or ",".join(fields)

    def cells(self) -> list[dict[str, Any]]:
        return [
            {
                "_target_": TARGET,
                "field": field,
                "others": [*(other for other in self.fields if other != field), *self.others],
                "name": self._named and f"{self._named}-{field}",
            }
            for field in self.fields
        ]


def _no_column(name: str, examples: Examples, dataset: str) -> HarnessError:
    place = f"system.field={name}: the data set {dataset} has"
    if not examples.metadata:
        return HarnessError(
            f"{place} no columns beside its ids, sources and references; expected data with a column of outputs, "
            "such as dataset=file (outputs in a file of their own: system=predictions)"
        )
    return HarnessError(
        f"{place} no such column{nearest(name, examples.metadata)}; found, beside those that are its ids, sources and "
        f"references: {files.listed(examples.metadata)}"
    )
