"""Threads of this process: order, how far ahead, errors, and that nothing of Ray is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.engines.local import Local
from harness.inputs.cores import cores
from harness.types import HarnessError, Recipe
from harness.types.engine import in_order, learnt, unheard
from tests.conftest import Called


def squared(threads: bool) -> Recipe:
    return Recipe("tests.engines.test_local.Nothing", {}, lambda number: number**2, threads)


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_every_item_once(n: int, threads: bool) -> None:
    results = list(Local().map(squared(threads), range(n), unheard))
    assert results == [(number, number**2) for number in range(n)]


def test_items_are_taken_when_they_are_needed() -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield number

    results = Local().map(squared(True), items(), unheard)
    next(results)
    assert taken <= 2 * cores() + 2
    results.close()  # type: ignore[attr-defined]


def test_a_replica_for_one_thread_is_called_from_the_callers() -> None:
    seen = Recipe("", {}, lambda item: threading.current_thread(), threads=False)
    assert {thread for _, thread in Local().map(seen, range(5), unheard)} == {threading.current_thread()}


def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(Local().map(Recipe("", {}, lambda item: 1 // item, threads=True), [1, 2, 0, 3], unheard))


def test_threads_are_limited_while_it_runs() -> None:
    before = cores()
    with Local(threads=1):
        assert cores() == 1
    assert cores() == before
    with pytest.raises(HarnessError, match=r"^engine.threads=0; expected at least 1$"):
        Local(threads=0)


def test_torch_takes_the_threads_that_a_replica_has(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("harness.inputs.cores._own", [])
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with Local(threads=1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_results_in_order() -> None:
    results = [(2, "c"), (0, "a"), (3, "d"), (1, "b")]
    assert list(in_order(iter(results))) == sorted(results)


def test_what_was_learnt_is_what_can_be_sent() -> None:
    from harness.metrics.nist import Nist

    fitted = Nist(tokenize="none").fit([["a b a b"], ["b c"]])
    assert fitted._tokenizer is not None  # computed on demand
    fitted.advance = lambda n: None
    state = learnt(fitted)
    assert "_weights" in state and "context" in state
    assert "_tokenizer" not in state and "advance" not in state


def test_a_run_does_not_import_ray(files: Path) -> None:
    code = (
        "import sys; from harness.cli.main import main; "
        "sys.argv = ['harness', 'run', 'dataset=file', 'dataset.path=dev.jsonl', 'system=lead', 'metrics=[bleu]', "
        "'tracking=none', 'cache=none', 'stats.resamples=20']; "
        "\ntry: main()\nexcept SystemExit as end: assert not end.code\nassert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=files, check=True, capture_output=True)


def test_the_engine_is_no_part_of_the_configs_key(cli: Callable[..., Called], files: Path) -> None:
    run = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=lead", "metrics=[bleu]", "tracking=none")
    assert cli(*run, "stats.resamples=20").code == 0
    assert cli(*run, "stats.resamples=20", "engine.threads=1").code == 0
    (folder,) = (files / "runs" / "harness").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["engine"] == {"name": "local", "threads": 1}
