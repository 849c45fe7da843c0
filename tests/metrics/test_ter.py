"""TER against sacreBLEU itself, corpus and sentence level, on real and hostile text; and its worker processes."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.datasets.embedded import EmbeddedDataset
from harness.metrics import ter, ter_worker
from harness.metrics.ter import Ter
from harness.systems.lead import Lead
from harness.types import HarnessError

NAMES = ("normalized", "no_punct", "asian_support", "case_sensitive")
OPTIONS: list[dict[str, bool]] = [
    dict(zip(NAMES, on, strict=True)) for on in itertools.product((False, True), repeat=4)
]


def check(outputs: list[str], references: list[list[str]], options: dict[str, bool]) -> None:
    """Corpus and sentence scores and the sums agree to 1e-9."""
    metric = Ter(**options)
    rows = metric.statistics(outputs, references, [None] * len(outputs))
    streams = [[refs[i] if i < len(refs) else None for refs in references] for i in range(max(map(len, references)))]
    corpus = sacrebleu.TER(**options).corpus_score(outputs, streams)  # type: ignore[arg-type]
    assert metric.score(rows.sum(0)).tolist() == pytest.approx([corpus.score], abs=1e-9)
    assert rows.sum(0).tolist() == pytest.approx([corpus.num_edits, corpus.ref_length], abs=1e-9)
    for found, output, refs in zip(metric.score_examples(rows), outputs, references, strict=True):
        assert found[0] == pytest.approx(sacrebleu.TER(**options).sentence_score(output, refs).score, abs=1e-9)


@pytest.mark.parametrize(
    ("output", "references", "options", "expected"),
    [  # by hand from Snover et al. 2006: insertions, deletions, substitutions and shifts over words of reference
        ("a b c d", ["a b c d"], {}, 0.0),
        ("e f g", ["a b c"], {}, 100.0),
        ("d e a b c", ["a b c d e"], {}, 20.0),
        ("a b x d", ["a b c d e"], {}, 40.0),
        ("a b c", ["x"], {}, 300.0),
        # sacreBLEU 2.6.0: the fewest edits, over the mean length of all references
        ("a b c", ["a b c d", "x"], {}, 40.0),
        ("a b c", ["a b c", "a b c d e", "a"], {}, 0.0),
        ("", ["a b"], {}, 100.0),
        ("a b", [""], {}, 100.0),
        ("", [""], {}, 0.0),
        ("a b", ["", "a b"], {}, 0.0),
        (" \u2003a\tb \n", ["a b"], {}, 0.0),
        ("Ärger im Haus", ["ärger IM haus"], {}, 0.0),
        ("Ärger im Haus", ["ärger IM haus"], {"case_sensitive": True}, 100.0),
        ("So &quot;it&quot; goes.", ['so "it" goes .'], {}, 75.0),
        ("So &quot;it&quot; goes.", ['so "it" goes .'], {"normalized": True}, 0.0),
        ("Nein, nie!", ["nein nie"], {}, 100.0),
        ("Nein, nie!", ["nein nie"], {"no_punct": True}, 0.0),
        ("中文。", ["中 文"], {"normalized": True, "no_punct": True}, 100.0),
        ("中文。", ["中 文"], {"normalized": True, "no_punct": True, "asian_support": True}, 0.0),
        ("3,000.5-7 it's", ["3,000.5 - 7 it 's"], {"normalized": True}, 0.0),
        ("it's, or not", ["it's, or not"], {"normalized": True}, 40.0),  # references are tokenized twice, outputs once
    ],
)
def test_goldens(output: str, references: list[str], options: dict[str, bool], expected: float) -> None:
    metric = Ter(**options)
    assert metric.score(metric.statistics([output], [references], [None])) == pytest.approx(expected, abs=1e-9)


def test_a_corpus_is_not_a_mean_of_sentences() -> None:
    metric = Ter()
    rows = metric.statistics(["a b c d", "x"], [["a b c d"], ["y"]], [None, None])
    assert metric.score(rows.sum(0)) == pytest.approx(20.0)
    assert metric.score_examples(rows).mean() == pytest.approx(50.0)


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[-1]], ids=str)
def test_embedded_data(options: dict[str, bool]) -> None:
    examples = list(EmbeddedDataset().examples())[:20]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    check(outputs, [list(e.references) for e in examples], options)


SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x20\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip
AWKWARD = [
    "",
    " ",
    SPACES,
    f"a{SPACES}b ",
    "\ufeffa \u200bb\u200d c",
    "😀 👩‍👩‍👧 e\u0301",
    "\ud83d\ude00 😀 \ud800",  # no text, but what a careless decoder makes; as JSON escapes the first two would be joined
    "中文，字。ひらがな カタカナ ㍻",
    "「so」 “it” 'goes'",
    "it's 's end's",
    "1,000.5 5-3 .5 a.b,c 3.",
    "&quot;x&quot; &amp;lt; &amp;amp;quot; &#39;",
    "x\n-y\nz -",
    "İSTANBUL ẞ ß ŉ",
    "the the the the",
]
texts = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(max_size=20),
    st.lists(st.sampled_from([*"abcAB.,!'1", "&amp;", "中", *SPACES]), max_size=12).map(" ".join),
    st.lists(st.sampled_from("abcd"), max_size=12).map(" ".join),
)
pairs_of_texts = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(pairs_of_texts, st.sampled_from(OPTIONS))
def test_random_and_hostile_text(pairs: list[tuple[str, list[str]]], options: dict[str, bool]) -> None:
    check([output for output, _ in pairs], [refs for _, refs in pairs], options)


def test_signature_is_sacrebleus() -> None:
    for options in OPTIONS:
        theirs = sacrebleu.TER(**options)
        theirs.corpus_score(["a", "b"], [["a", "b"], ["c", "d"]])
        assert str(Ter(**options).signature([["a", "c"], ["b", "d"]])) == str(theirs.get_signature())
        theirs.corpus_score(["a", "b"], [["a", "b"], ["c", None]])  # type: ignore[list-item]
        assert str(Ter(**options).signature([["a", "c"], ["b"]])) == str(theirs.get_signature())


def test_missing_rows_stay_missing() -> None:
    assert np.isnan(Ter().score(np.full((2, 2), np.nan))).all()
    assert Ter().score(np.array([[np.nan, np.nan], [1.0, 4.0]]))[1].tolist() == [25.0]
    assert Ter().statistics([], [], []).shape == (0, 2)
    assert not Ter.higher_is_better


# ---------------------------------------------------------------- workers


class Recorded(ter._Worker):
    started: list[Recorded] = []

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.started.append(self)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Recorded]:
    """The workers that a test started."""
    monkeypatch.setattr(Recorded, "started", [])
    monkeypatch.setattr(ter, "_Worker", Recorded)
    return Recorded.started


def spread(workers: int, **options: bool) -> Ter:
    """A metric that uses workers, however few pairs there are."""
    metric = Ter(**options)
    metric._few, metric._workers = 0, workers
    return metric


def many(n: int) -> tuple[list[str], list[list[str]], list[None]]:
    """Hostile and plain outputs, some of them twice, with one to three references."""
    plain = [" ".join(f"w{i * j % 997}" for j in range(1, 9)) for i in range(n - len(AWKWARD) - 2)]
    outputs = [*AWKWARD, *plain, *plain[:2]]
    return outputs, [[outputs[-i], *outputs[i : i + i % 3]] for i in range(n)], [None] * n


@pytest.mark.parametrize("workers", [2, 5])
def test_workers_give_the_same_rows(workers: int, started: list[Recorded]) -> None:
    examples = many(90)
    for options in (OPTIONS[0], OPTIONS[-1]):
        done: list[int] = []
        metric = spread(workers, **options)
        metric.advance = done.append  # type: ignore[method-assign, assignment]
        assert metric.statistics(*examples).tolist() == Ter(**options).statistics(*examples).tolist()
        assert sum(done) == 90 and len(done) > 5
    assert [worker.process.returncode is not None for worker in started] == [True] * 2 * workers


def test_few_pairs_start_no_worker(started: list[Recorded]) -> None:
    metric = Ter()
    metric._workers = 2
    metric.statistics(*many(150))
    metric.statistics(["a b"] * 1000, [["b c"]] * 1000, [None] * 1000)
    assert started == []
    spread(1).statistics(*many(30))
    assert started == []
    metric.statistics(*many(230))
    assert len(started) == 2


@pytest.mark.parametrize("reference", ["y", "x" * 100_000])
def test_very_long_lines_block_no_pipe(reference: str) -> None:
    n = 24
    outputs = [f"{i}" + "x" * 100_000 for i in range(n - 1)] + ["a " * 20_000]
    rows = spread(2).statistics(outputs, [[reference]] * n, [None] * n)
    assert rows[:, 0].tolist() == [1.0] * (n - 1) + [20_000.0]


def test_a_killed_worker_is_an_error(started: list[Recorded], monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(self: Recorded, pairs: Any) -> Any:
        if not self.greeting:  # it has answered before
            self.process.kill()
        return super(Recorded, self).ask(pairs)

    monkeypatch.setattr(Recorded, "ask", ask)
    with pytest.raises(HarnessError) as raised:
        spread(2).statistics(*many(90))
    assert str(raised.value).startswith(
        "metrics.ter: a worker process ended with code -9 (killed, perhaps for want of memory), scoring 8 outputs from "
    )
    assert str(raised.value).endswith(" on; expected their statistics. Its standard error: empty")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "sys.exit('no sacrebleu here')",
            "code 1, scoring 8 outputs from '' on; expected their statistics. Its standard error: no sacrebleu here",
        ),
        ("sys.stdin.readline(); raise MemoryError('of what')", "MemoryError: of what"),
        (
            "print('hello'); sys.stdin.read()",
            "code -9 (killed, perhaps for want of memory) after b'hello\\n', scoring 8 outputs",
        ),
        ("sys.stdout.write('[[1, 2')", "code 0 after b'[[1, 2', scoring 8 outputs"),
    ],
)
def test_a_broken_worker_is_an_error(code: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text(f"import sys\n{code}\n")
    monkeypatch.setattr(ter_worker, "__file__", str(tmp_path / "broken.py"))
    with pytest.raises(HarnessError) as raised:
        spread(2).statistics(*many(40))
    assert expected in str(raised.value)


def test_no_python_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "no/such/python")
    with pytest.raises(HarnessError, match="metrics.ter: no worker can be started by no/such/python"):
        spread(2).statistics(*many(40))
    monkeypatch.setattr(sys, "executable", "")  # embedded in another program
    assert len(spread(2).statistics(*many(40))) == 40


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_ends_the_workers(error: type[BaseException], started: list[Recorded]) -> None:
    def interrupt(n: int) -> None:
        raise error

    metric = spread(3)
    metric.advance = interrupt  # type: ignore[method-assign, assignment]
    with pytest.raises(error):
        metric.statistics(*many(400))
    assert [worker.process.returncode is not None for worker in started] == [True] * 3
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ter")]


def test_a_worker_ends_with_its_parent() -> None:
    """Not only after the minute that this pair takes."""
    words = [f"w{i * i % 401}" for i in range(600)]
    worker = ter._Worker({})
    assert worker.process.stdin is not None
    worker.process.stdin.write(worker.greeting + ter_worker.encoded([(" ".join(words), [" ".join(sorted(words))])]))
    worker.process.stdin.close()
    assert worker.process.wait(timeout=10) == 0
    worker.close()


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    """And files beside it that are named like packages do no harm to the workers that they would not do to the script."""
    (tmp_path / "script.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n"
        "print('once')\n"
        "from harness.metrics.ter import Ter\n"
        "Ter._few, Ter._workers = 0, 2\n"
        "print(Ter().statistics([f'a {i}' for i in range(50)], [['a b']] * 50, [None] * 50).sum(0).tolist())\n"
    )
    (tmp_path / "ter_worker.py").write_text("raise SystemExit('the wrong one')\n")
    called = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (called.stdout, called.stderr) == ("once\n[50.0, 100.0]\n", "")
