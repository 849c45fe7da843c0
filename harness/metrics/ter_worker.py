"""TER's statistics of single segments by sacreBLEU's own code, and the process in which `harness.metrics.ter` runs it.

As a script it reads JSON lines: first the folders to import from and the options, then lists of (output, references),
each answered by a line of rows. It reads while it computes, so that both sides never wait for each other to read,
however long the texts. Nothing local is imported, and what a package prints goes to standard error.

>>> scorer({})([("a c b", ["a b c", "a b"]), ("", [""])])  # edits to the nearest reference, mean reference length
[[1, 2.5], [0, 0.0]]
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import Any

Pair = tuple[str, Sequence[str]]
"""An output and its references."""


def scorer(options: Mapping[str, bool]) -> Callable[[Sequence[Pair]], list[list[float]]]:
    """What turns pairs into their rows (edits, mean reference length)."""
    from sacrebleu.metrics.ter import TER

    ter = TER(**options)

    def rows(pairs: Sequence[Pair]) -> list[list[float]]:
        return [ter._extract_corpus_statistics([output], [[text] for text in texts])[0] for output, texts in pairs]

    return rows


def encoded(message: Any) -> bytes:
    """A line; lone surrogates stay as they are, where `\\u` escapes would join two of them to one character."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def decoded(line: bytes) -> Any:
    return json.loads(line.decode("utf-8", "surrogatepass"))


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    sys.path[:], options = decoded(lines.get())
    rows = scorer(options)
    while True:
        answers.write(encoded(rows(decoded(lines.get()))))
        answers.flush()


def _read(lines: SimpleQueue[bytes]) -> None:
    """In a thread, so that a worker whose parent was killed ends at once, not after the minutes of a long pair."""
    with open(0, "rb", closefd=False) as standard_input:  # sys.stdin's lock must be free when Python ends
        for line in standard_input:
            lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
