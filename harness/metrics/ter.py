"""TER (Snover et al. 2006) as sacreBLEU 2.6 computes it, corpus and sentence level: edits, shifts of words among them,
for each 100 words of reference.

A row holds the edits to the nearest reference and the mean length of the references; corpus TER is a function of their
sum. The rows are sacreBLEU's own. Its search for shifts takes milliseconds for a sentence and minutes for two texts of
2,000 words, so that more than a few pairs are spread over the cores.

With `normalized` sacreBLEU tokenizes references twice and outputs once, which is not always the same: "it's, or not"
is two edits from itself. It stays so here.

>>> ter = Ter()
>>> rows = ter.statistics(["the cat on the mat sat"], [["the cat sat on the mat"]], [None])
>>> round(float(ter.score(rows.sum(0))[0]), 4)  # one shift, six words
16.6667
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.metadata import version
from queue import SimpleQueue
from typing import Any

import numpy as np

from harness.metrics import ter_worker
from harness.metrics.columns import cores
from harness.metrics.ter_worker import Pair
from harness.types import Array, HarnessError, Metric

CHUNK = 8
"""Pairs a worker is given at a time: few, because a long one can take as long as a hundred others."""


class Ter(Metric):
    name = "ter"
    columns = ("edits", "ref_len")
    score_names = ("ter",)
    higher_is_better = False
    _few = 200
    """Fewer distinct pairs than this are scored in the process itself: starting workers takes longer."""
    _workers: int | None = None
    """None: as many as there are cores to run on."""

    def __init__(
        self,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        self.normalized, self.no_punct = normalized, no_punct
        self.asian_support, self.case_sensitive = asian_support, case_sensitive

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        places: dict[Pair, int] = {}
        pairs = zip(outputs, map(tuple, references), strict=True)
        which = np.array([places.setdefault(pair, len(places)) for pair in pairs], dtype=np.intp)
        distinct, times = list(places), np.bincount(which, minlength=len(places))
        rows = np.empty((len(distinct), len(self.columns)))
        start = 0
        with closing(self._parts([distinct[i : i + CHUNK] for i in range(0, len(distinct), CHUNK)])) as parts:
            for part in parts:
                end = start + len(part)
                rows[start:end] = part
                self.advance(int(times[start:end].sum()))
                start = end
        return rows[which]

    def _parts(self, chunks: Sequence[Sequence[Pair]]) -> Generator[list[list[float]]]:
        """The rows of each chunk, in order."""
        options = {
            "normalized": self.normalized,
            "no_punct": self.no_punct,
            "asian_support": self.asian_support,
            "case_sensitive": self.case_sensitive,
        }
        number = min(self._workers or cores(), len(chunks))
        if sum(map(len, chunks)) < self._few or number < 2 or not sys.executable:
            yield from map(ter_worker.scorer(options), chunks)
        else:
            yield from _by_workers(options, chunks, number)

    def score(self, sums: Array) -> Array:
        edits, length = sums[..., :1], sums[..., 1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(length > 0, edits / length, edits > 0)
        return np.where(np.isnan(edits), np.nan, 100 * rate)

    def definition(self) -> dict[str, str]:
        return {
            "case": "mixed" if self.case_sensitive else "lc",
            "tok": "tercom",
            "norm": "yes" if self.normalized else "no",
            "punct": "no" if self.no_punct else "yes",
            "asian": "yes" if self.asian_support else "no",
        }

    def provenance(self) -> dict[str, str]:
        return {"version": version("sacrebleu")}


class _Worker:
    """A process that is no fork, since the caller may have threads, and none of multiprocessing, which would run the
    caller's script again. It ends when its standard input does."""

    def __init__(self, options: Mapping[str, bool]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process; a pipe could fill up)
        command = [sys.executable, "-P", ter_worker.__file__]
        pipe = subprocess.PIPE
        try:
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.errors)
        except OSError as error:
            self.errors.close()
            raise HarnessError(f"metrics.ter: no worker can be started by {sys.executable} ({error})") from error
        self.greeting = ter_worker.encoded([[path for path in sys.path if isinstance(path, str)], options])

    def ask(self, pairs: Sequence[Pair]) -> list[list[float]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = b""
        try:
            self.process.stdin.write(self.greeting + ter_worker.encoded(pairs))
            self.process.stdin.flush()
            self.greeting = b""
            line = self.process.stdout.readline()
            rows: list[list[float]] = ter_worker.decoded(line)
            return rows
        except (OSError, ValueError):  # its end of a pipe is closed, or the answer is no whole line
            raise self._failure(pairs, line) from None

    def _failure(self, pairs: Sequence[Pair], line: bytes) -> HarnessError:
        self.process.kill()
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip()[-2000:]
        hint = " (killed, perhaps for want of memory)" if code == -9 else ""
        found = f" after {line[:100]!r}" if line else ""
        return HarnessError(
            f"metrics.ter: a worker process ended with code {code}{hint}{found}, scoring {len(pairs)} outputs from "
            f"{pairs[0][0][:60]!r} on; expected their statistics. Its standard error: {said or 'empty'}"
        )

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            with suppress(OSError):  # what a killed worker did not read
                pipe.close()  # type: ignore[union-attr]
        self.process.wait()


def _by_workers(
    options: Mapping[str, bool], chunks: Sequence[Sequence[Pair]], number: int
) -> Generator[list[list[float]]]:
    """The rows of each chunk, in order; every worker has a thread that asks it for one chunk after the other."""
    workers: list[_Worker] = []
    idle: SimpleQueue[_Worker] = SimpleQueue()
    threads = ThreadPoolExecutor(number, thread_name_prefix="ter")

    def ask(chunk: Sequence[Pair]) -> Any:
        worker = idle.get()
        try:
            return worker.ask(chunk)
        finally:
            idle.put(worker)

    try:
        for _ in range(number):
            workers.append(_Worker(options))
            idle.put(workers[-1])
        yield from threads.map(ask, chunks)
    finally:  # also after Ctrl-C: a killed worker ends the wait of its thread
        for worker in workers:
            worker.process.kill()
        threads.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()
