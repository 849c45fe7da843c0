"""What `harness verify` says of a document: each thing that is not as its run has it, with its place."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """What is not as its run has it."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass
class Verified:
    findings: list[Finding] = field(default_factory=list)
    tables: int = 0
    numbers: int = 0
    """That were compared."""


@dataclass(frozen=True)
class Document:
    """A file of a paper."""

    file: str
    text: str
    verified: Verified

    def say(self, line: int, column: int, message: str) -> None:
        self.verified.findings.append(Finding(self.file, line, column, message))

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column), both from 1, of a character.

        >>> Document("a.md", "one\\ntwo", Verified()).place(5)
        (2, 2)
        """
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
