"""Kernels give what their Python gives; their code is kept, loaded without Numba, and made again where it must be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numba.core.errors import NumbaError

from harness.compiled import compiled
from harness.compiled.machine_code import FOLDER

ROOT = Path(__file__).parents[2]
STEP = 3


def weighed(matrix: Any, weights: Any, factor: Any, shift: Any, flag: Any, totals: Any) -> Any:
    """totals (n,): of each row of matrix (n, k) the sum times the weights, and more; the number of rows."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * weights[j]
        totals[i] = total * factor + float(shift >> np.uint64(60)) + (STEP if flag else 0)
    return matrix.shape[0]


@compiled
def _doubled(value: Any) -> Any:
    return 2 * value


@compiled
def doubled(values: Any) -> None:
    for i in range(len(values)):
        values[i] = _doubled(values[i])


@compiled
def raising(values: Any) -> None:
    if values[0] > 0:
        raise ValueError


@compiled
def allocating(values: Any) -> None:
    values[:] = np.ones(len(values))


@compiled
def halved(values: Any) -> Any:
    return values[0] / 2


@pytest.fixture(scope="module")
def kernel() -> Any:
    return compiled(weighed)


MATRIX = np.random.default_rng(1).normal(size=(7, 5))


@pytest.mark.parametrize(
    "matrix", [MATRIX, MATRIX.T, MATRIX[::2], MATRIX[:, 1:], MATRIX[:0], MATRIX.astype(np.int32), MATRIX > 0],
    ids=["whole", "turned", "every second row", "without a column", "no row", "int32", "bool"],
)  # fmt: skip
def test_the_bytes_that_python_gives(kernel: Any, matrix: np.ndarray) -> None:
    weights = np.linspace(-1, 1, matrix.shape[1])
    weights.flags.writeable = False
    mine, theirs = np.empty(len(matrix)), np.empty(len(matrix))
    numbers = (0.1, np.uint64(2**64 - 1), True)
    assert kernel(matrix, weights, *numbers, mine) == weighed(matrix, weights, *numbers, theirs) == len(matrix)
    assert mine.tobytes() == theirs.tobytes()


def test_in_many_threads_at_once() -> None:
    arrays = [np.arange(1000.0) + i for i in range(50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(doubled, arrays))
    assert all(np.array_equal(array, 2 * (np.arange(1000.0) + i)) for i, array in enumerate(arrays))


def test_what_a_kernel_must_not_do() -> None:
    constant = np.ones(2)
    constant.flags.writeable = False
    with pytest.raises(NumbaError, match="Cannot modify readonly array"):
        doubled(constant)
    with pytest.raises(RuntimeError, match="a kernel raised an error"):
        raising(np.ones(1))
    with pytest.raises(NumbaError, match="No implementation of function .*ones"):
        allocating(np.ones(2))
    with pytest.raises(TypeError, match="halved returns float64 and calls no library; expected"):
        halved(np.ones(1))
    with pytest.raises(KeyError, match="str"):
        doubled("text")


def with_globals(**names: Any) -> Any:
    return compiled(FunctionType(doubled.function.__code__, {**doubled.function.__globals__, **names}))


def test_the_definition_names_all_that_decides() -> None:
    @compiled
    def _doubled(value: Any) -> Any:
        return value + value

    assert doubled.definition == with_globals().definition
    assert doubled.definition != with_globals(_doubled=_doubled).definition
    stepped = compiled(FunctionType(weighed.__code__, {**weighed.__globals__, "STEP": 4}))
    assert compiled(weighed).definition != stepped.definition


# ---------------------------------------------------------------- on disk

SCRIPT = """
import json, sys
import numpy as np
from harness.stats.kernels import coin_flips
counts = np.zeros((2, 8), np.uint16)
coin_flips(np.arange(4, dtype=np.uint64), counts)
print(json.dumps([counts.tolist(), "numba" in sys.modules]))
"""


def called(folder: Path) -> tuple[list[list[int]], bool]:
    """(what a kernel gives in a new process, whether Numba was imported)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), FOLDER: str(folder)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    counts, numba = json.loads(done.stdout)
    return counts, numba


def test_code_is_kept_and_made_again_where_it_is_damaged(tmp_path: Path) -> None:
    made, numba = called(tmp_path)
    (file,) = tmp_path.iterdir()
    assert numba
    assert called(tmp_path) == (made, False)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert called(tmp_path) == (made, True)
    assert [file.read_bytes()[:200] == whole[:200], called(tmp_path)] == [True, (made, False)]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert called(tmp_path / "file" / "folder")[1]
