"""How the data of two runs differs that were to be compared."""

from __future__ import annotations

from collections.abc import Sequence

from harness.inputs import files
from harness.types import RunResult
from harness.types.shown import counted

COLUMN = "harness.systems.column.Column"


def alone(run: RunResult, runs: Sequence[RunResult]) -> str:
    """Why a run cannot be paired: how its data differs from the next one's."""
    other = next(candidate for candidate in runs if candidate is not run)
    mine, theirs = (of.columns("id").column("id").to_pylist() for of in (run, other))
    missing, extra = set(theirs) - set(mine), set(mine) - set(theirs)
    if missing or extra:
        difference = f"{counted(len(missing | extra), 'id')} not in both ({files.some(sorted(missing | extra))})"
    else:
        difference = "the ids are the same but sources, references or metadata differ" + _fields_apart(run, other)
    return (
        f"{run.name} and {other.name} are runs on different data: {run.name} has {counted(len(mine), 'example')} of "
        f"{run.dataset}, {other.name} {len(theirs)} of {other.dataset}; {difference}; "
        "expected two or more runs on the same data"
    )


def _fields_apart(run: RunResult, other: RunResult) -> str:
    """The fields that one of them has, where that is so: such as the outputs of the other."""
    mine, theirs = ({*of.table.column_names} - {*of.scores} for of in (run, other))
    if mine == theirs:
        return ""
    fields = ((run.name, mine - theirs), (other.name, theirs - mine))
    parts = [f"{name} has {files.listed(sorted(own))}" for name, own in fields if own]
    column = COLUMN in str(run.manifest.get("config", {}).get("system"))
    hint = "; columns of outputs are evaluated together: 'system.field=[A,B]'" if column else ""
    return f" ({', '.join(parts)}{hint})"
