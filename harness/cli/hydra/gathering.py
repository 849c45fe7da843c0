"""A multirun while it goes on, in the process that was called: which cells there are, what each came to, told as they
end, and the table, the failures and the exit code at the end."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from textwrap import shorten

from omegaconf import DictConfig

from harness.cli.hydra import calling, ending
from harness.cli.hydra.marks import Ended, Marks
from harness.cli.hydra.varied import Varied
from harness.cli.output import complain, tell
from harness.report.terminal.wording import listed
from harness.store.records import record
from harness.types import RunRecord

NUMBER = "++sweep.number="
"""Of a race: which cell of the grid it is."""
SHORT = 200
"""Letters of a reason that was told in full when the cell failed."""


class Gathering:
    """The cells of a multirun."""

    def __init__(self, config: DictConfig, varied: Varied) -> None:
        self.config, self.varied = config, varied
        self.marks = Marks(config.hydra.sweep.dir)
        self.cells: dict[int, Sequence[str]] = {}
        """By their numbers: the overrides of those that were launched."""
        self.total: int | None = None
        """How many there will be, where a sweeper launches them a few at a time."""
        self.earlier = 0
        """How many were launched in earlier rounds of a race: each round is counted for itself."""
        self.ended: dict[int, Ended] = {}
        """Those that were told."""
        self._told: dict[str, RunRecord] = {}
        """Their runs, by folder, as they were then."""
        self._names: dict[str, list[str]] = {}
        """By run folder, what the cells that ended with it are called."""
        self._telling = threading.Lock()
        self._open = ExitStack()

    def plan(self, cells: Mapping[int, Sequence[str]]) -> None:
        """These are to be run."""
        if not self.cells:
            if self.total is None:
                self._tell_same(cells)
            self._open.enter_context(self.marks.kept())
        self.cells.update(cells)

    def _tell_same(self, cells: Mapping[int, Sequence[str]]) -> None:
        """Of cells with the same values, which are one run."""
        numbers: dict[tuple[str, ...], list[int]] = {}
        for number, words in cells.items():
            own = tuple(word for word in words if not word.startswith(NUMBER))
            numbers.setdefault(own, []).append(number)
        for words, same in numbers.items():
            if len(same) > 1:
                name = self.varied.label(words)
                complain(f"the cells {listed(list(map(str, same)))} have the same key, and are one run: {name}")

    def _tell_of_one_run(self, number: int, cell: Ended) -> None:
        """Of cells with other values that are one run all the same."""
        own = self.label(number)
        for folder in cell.folders:
            names = self._names.setdefault(folder, [])
            if own in names:  # a race ends each cell several times
                continue
            names.append(own)
            if len(names) > 1:
                complain(
                    f"the cells {names[0]} and {own} have the same key, and are one run: what differs between them "
                    "changes no output"
                )

    def _place(self, number: int) -> int:
        """Which cell of the grid was launched under this number; a race launches each once a round."""
        word = next((word for word in self.cells.get(number, ()) if word.startswith(NUMBER)), None)
        return number if word is None else int(word.removeprefix(NUMBER))

    def label(self, number: int) -> str:
        """What a cell is called: what varies."""
        return self.varied.label(self.cells.get(number, ()))

    def _called(self, number: int) -> str:
        name, place = self.label(number), self._place(number)
        return f"{place} ({name})" if name else str(place)

    def show(self) -> None:
        """Tells of the cells that ended since the last time."""
        from harness.report.terminal.ended_cells import print_ended

        with self._telling:
            for number, cell in self.marks.ended(list(self.ended)).items():
                self.ended[number] = cell
                self._tell_of_one_run(number, cell)
                if cell.error is not None:
                    complain(f"cell {self._called(number)} failed: {cell.error}")
                elif not self.config.json and not self.config.dry_run:
                    runs = [record(Path(folder)) for folder in cell.folders]
                    total = (self.total or len(self.cells)) - self.earlier
                    ended = len(self.ended) - self.earlier
                    print_ended(ended, total, self.label(number), runs, cell.seconds, self._told)
                    self._told |= zip(cell.folders, runs, strict=True)

    @property
    def failed(self) -> dict[int, str]:
        ended = sorted(self.ended.items())
        return {self._place(number): cell.error for number, cell in ended if cell.error is not None}

    @property
    def _failures(self) -> ending.Failures:
        return {number: {"label": self.label(number), "error": error} for number, error in self.failed.items()}

    @property
    def runs(self) -> list[RunRecord]:
        """The finished ones, in the sweep's order, each once."""
        folders = dict.fromkeys(folder for _, cell in sorted(self.ended.items()) for folder in cell.folders)
        return [self._told.get(folder) or record(Path(folder)) for folder in folders]

    def end(self) -> int:
        """Prints the table, or all as JSON; the exit code."""
        self.show()
        failed, runs = self.failed, self.runs
        if self.config.dry_run:
            estimates = [estimate for _, cell in sorted(self.ended.items()) for estimate in cell.estimates]
            ending.print_estimates(estimates, self._failures, self.config.json)
        elif self.config.json:
            ending.print_runs_as_json(runs, self._failures)
        elif runs:
            from harness.analysis.stored.parameters import labels
            from harness.report.terminal.summary import print_summary

            tell("")
            print_summary(runs, labels)
            ending.print_what_is_next(runs)
        if not self.config.dry_run:
            ending.log_outcome(self.config, runs)
        if failed:
            named = "\n".join(
                f"  {f'{number} {self.label(number)}'.rstrip()}: {shorten(error, SHORT, placeholder=' …')}"
                for number, error in failed.items()
            )
            complain(
                f"{len(failed)} of {len(set(map(self._place, self.cells)))} cells failed:\n{named}\n"
                f"What is finished is kept. To try these again:\n  {self._again}"
            )
        return 1 if failed else 0

    @property
    def _again(self) -> str:
        """The command that tries failed cells again, and outputs that failed in them; a study takes a trial that failed
        for told."""
        return f"{calling.command()}{'' if self.config.retry_failed else ' retry_failed=true'}"

    def interrupted(self) -> str:
        """What is to be known where a multirun is ended before its end."""
        self.show()
        words = f"{len(self.ended) - self.earlier} of {len(self.cells) - self.earlier} cells have ended"
        words += " in this round" if self.earlier else ""
        return f"{words}; jobs that were submitted go on by themselves" if self.marks.awaited else words

    def close(self) -> None:
        """Removes the sweep's folder: what its cells noted there has been told, and each run has its own config. It
        stays where jobs still need it."""
        awaited = self.marks.awaited
        self._open.close()
        if not awaited:
            self.marks.remove()
