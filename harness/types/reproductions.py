"""Whether a stored run is the same again: what was compared, what differs, what is missing, and the verdict.

>>> Reproduction("dev-sysA", "outputs", compared=12).verdict
'same'
>>> Reproduction("dev-sysA", "outputs", differences=[Difference("scores.json", "bleu", 31.0, 30.2)]).verdict
'different'
>>> Reproduction("dev-sysA", "system", missing=["dev.jsonl"]).code
3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.types.errors import HarnessError
from harness.types.side_by_side import Comparison

CODES = {"same": 0, "different": 1, "cannot be tried": 3}


class CannotBeTried(HarnessError):
    """Something that was recorded is missing here: a data file, a model, a version of a package."""


@dataclass(frozen=True)
class Difference:
    """One value that is not the same."""

    place: str
    """The file that has the stored value, and what of it: `scores.json`, `example 'a'`."""
    what: str
    stored: Any
    here: Any
    """Both None where `what` says it all."""


@dataclass(frozen=True)
class OutputsAgain:
    """Outputs that were generated again, beside the stored ones."""

    identical: int
    of: int
    first: Difference | None = None
    changes: Sequence[Comparison] = ()
    """Of each headline score, by a paired test."""


@dataclass(frozen=True)
class Reproduction:
    """One run, executed again."""

    run: str
    level: str
    """`outputs`: stored outputs were scored again; `system`: they were generated again."""
    compared: int = 0
    """Numbers and texts that were compared."""
    differences: Sequence[Difference] = ()
    example: Difference | None = None
    """The first example that differs."""
    missing: Sequence[str] = ()
    """What cannot be tried without, and where it was."""
    notes: Sequence[str] = ()
    """What is not the same here and may change numbers, and what was taken as it is stored."""
    spread: float = 0.0
    """The largest relative change of a score or a bound."""
    outputs: OutputsAgain | None = None

    @property
    def verdict(self) -> str:
        if self.differences or self.example or (self.outputs and self.outputs.first):
            return "different"
        return "cannot be tried" if self.missing else "same"

    @property
    def code(self) -> int:
        return CODES[self.verdict]

    def document(self) -> dict[str, Any]:
        """For `--json`."""
        return {"verdict": self.verdict, **asdict(self)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Reproduction:
        """The other way round."""
        fields = {name: value for name, value in document.items() if name != "verdict"}
        outputs = fields["outputs"]
        if outputs is not None:
            changes = tuple(Comparison(**row) for row in outputs["changes"])
            fields["outputs"] = OutputsAgain(**{**outputs, "first": _of(outputs["first"]), "changes": changes})
        differences = [Difference(**each) for each in fields["differences"]]
        return cls(**{**fields, "differences": differences, "example": _of(fields["example"])})


def _of(document: Mapping[str, Any] | None) -> Difference | None:
    return None if document is None else Difference(**document)


@dataclass(frozen=True)
class Bundle:
    """The file that the runs came in."""

    file: str
    sha256: str | None
    """To be compared with what its authors printed; None of a folder that was unpacked."""
    figures: int = 0
    """That are not drawn again: nothing but the list of sums holds them."""


@dataclass(frozen=True)
class Reproductions:
    """Those of all runs that a command names, and what was compared beside them."""

    runs: Sequence[Reproduction]
    beside: Sequence[Difference] = ()
    """Of a bundle: files, comparisons and tables that are not the same."""
    compared: int = 0
    """Of a bundle, beside the runs: files, comparisons and tables."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Of an environment that was made for it: what was installed, and what is not as it was recorded."""
    bundle: Bundle | None = None

    @property
    def verdict(self) -> str:
        verdicts = {run.verdict for run in self.runs}
        if self.beside or "different" in verdicts:
            return "different"
        return "cannot be tried" if "cannot be tried" in verdicts else "same"

    @property
    def code(self) -> int:
        return CODES[self.verdict]

    def document(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "verdict": self.verdict,
            "runs": [run.document() for run in self.runs],
            "beside": [asdict(difference) for difference in self.beside],
            "compared": self.compared,
            "environment": dict(self.about) or None,
            "bundle": None if self.bundle is None else asdict(self.bundle),
        }
