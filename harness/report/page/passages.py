"""What a system retrieved for each row, as the page shows it: in its order, with what was judged of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.types import Contexts

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("contexts", "reference_contexts", "relevant")


def retrieved(table: pa.Table, places: pa.Array) -> list[list[list[Any]] | None] | None:
    """Of these rows the contexts [id, text, score, whether it is relevant], None where nothing was judged; None for all
    where the run has none."""
    if "contexts" not in table.column_names:
        return None
    rows = table.select([name for name in COLUMNS if name in table.column_names]).take(places).to_pydict()
    contexts = Contexts.of(rows["contexts"])
    nothing = [None] * len(contexts)
    gold, grades = rows.get("reference_contexts", nothing), rows.get("relevant", nothing)
    return [
        None if each is None else [[c.id, c.text, c.score, is_relevant(c.id, c.text, relevant, passages)] for c in each]
        for each, relevant, passages in zip(contexts, grades, gold, strict=True)
    ]


def is_relevant(id_: str | None, text: str | None, relevant: Any, gold: Sequence[Any] | None) -> bool | None:
    """Whether its id was judged so, or where no ids were judged, its text is one of the gold passages.

    >>> is_relevant("a", "It rains.", [{"id": "a", "grade": 2.0}], None), is_relevant("b", None, [], ["It rains."])
    (True, False)
    >>> is_relevant(None, "It rains.", None, [{"text": "It rains."}]), is_relevant("a", "It rains.", None, None)
    (True, None)
    """
    if relevant is not None and id_ is not None:
        return any(judged["id"] == id_ and judged["grade"] > 0 for judged in relevant)
    if gold is None:
        return None
    return text is not None and text in [each["text"] if isinstance(each, Mapping) else each for each in gold]
