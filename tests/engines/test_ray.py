"""Replicas on a Ray cluster: the same files as threads give, whatever is lost on the way; one message where a replica
cannot be made."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.engines import cluster
from harness.engines.ray import Ray
from harness.testing import read_calls
from harness.types import HarnessError, Recipe, text_columns
from harness.types.engine import unheard
from tests.conftest import Called
from tests.engines.conftest import FILES, N

Cli = Callable[..., Called]
STORED = (
    "run", "dataset=file", "dataset.path=data.jsonl", "dataset.cluster=talk", "system=predictions",
    "system.path=outputs.jsonl", "metrics=[bleu,rouge,nist,distinct,exact_match]", "stats.resamples=200", "tracking=none",
    "cache=none",
)  # fmt: skip
GENERATED = (
    "run", "dataset=file", "dataset.path=data.jsonl", "system=lead", "system._target_=mine.Answers",
    "metrics=[exact_match,token_f1]", "stats.resamples=200", "tracking=none", "cache=none", "~system.sentences",
)  # fmt: skip
pytestmark = pytest.mark.usefixtures("ray_cluster")


@pytest.fixture(autouse=True)
def _mine(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of seven examples, and mine.py as if it had never been imported."""
    monkeypatch.chdir(data)
    monkeypatch.setattr(text_columns, "BLOCK", 7)
    yield
    sys.modules.pop("mine", None)


@pytest.fixture
def _far(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nodes were other machines."""
    monkeypatch.setattr(Ray, "near", False)


def files(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def engine_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return dict(manifest["engine"])


def ran(cli: Cli, *arguments: str) -> Called:
    called = cli(*arguments)
    assert called.code == 0, called.err
    return called


# ---------------------------------------------------------------- scoring


def test_the_same_files(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With metrics that are fitted, and with resampling spread as well."""
    monkeypatch.setattr("harness.stats.resampling.WORTH_SENDING", 0)
    monkeypatch.setattr("harness.stats.resampling.SENT", 2)
    ran(cli, *STORED, "output_dir=threads", "engine.threads=2")
    ran(cli, *STORED, "output_dir=thread", "engine.threads=1")
    for replicas in (1, 2):
        ran(cli, *STORED, f"output_dir=ray{replicas}", "engine=ray", f"engine.replicas={replicas}")
        assert engine_of(data / f"ray{replicas}")["replicas"] == replicas
    assert files(data / "threads") == files(data / "thread") == files(data / "ray1") == files(data / "ray2")


def test_a_run_resumes_on_any_engine(data: Path, cli: Cli) -> None:
    ran(cli, *STORED, "output_dir=run", "engine=ray", "engine.replicas=1")
    before = files(data / "run")
    ran(cli, *STORED, "output_dir=run")
    assert files(data / "run") == before
    assert engine_of(data / "run") == {"name": "local", "threads": None}


@pytest.mark.slow
def test_a_stored_run_is_scored_again_on_any_engine(data: Path, cli: Cli) -> None:
    """On the one that is asked for, wherever the stored run was computed; with what was fitted, and from the folder
    alone."""
    ran(cli, *STORED, "output_dir=stored", "engine=ray", "engine.replicas=1")
    for name in ("data.jsonl", "outputs.jsonl"):
        (data / name).unlink()
    again = ("score", "stored", "metrics=chrf", "metrics.nist.lowercase=true", "tracking=none")
    ran(cli, *again, "output_dir=one")
    ran(cli, *again, "output_dir=two", "engine=ray", "engine.replicas=2")
    assert files(data / "one") == files(data / "two")
    assert engine_of(data / "one") == {"name": "local", "threads": None}
    assert engine_of(data / "two")["replicas"] == 2


def as_parquet(path: Path, name: str, size: int = 10) -> str:
    """The rows of a file of JSON lines."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [json.loads(line) for line in path.read_text().splitlines()]
    pq.write_table(pa.Table.from_pylist(rows), path.parent / name, row_group_size=size)
    return name


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.usefixtures("_far")
@pytest.mark.parametrize(
    "way",
    [
        "lines",
        "shuffled",
        pytest.param("parquet", marks=SLOW),
        pytest.param("address", marks=SLOW),
        pytest.param("limit", marks=SLOW),
        pytest.param("strip", marks=SLOW),
    ],
)
def test_replicas_read_the_data_themselves(way: str, data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    more: tuple[str, ...] = ()
    if way == "shuffled":
        lines = (data / "outputs.jsonl").read_text().splitlines()
        (data / "outputs.jsonl").write_text("\n".join(lines[::-1]))
    if way == "parquet":
        names = [as_parquet(data / f"{name}.jsonl", f"{name}.parquet") for name in ("data", "outputs")]
        more = (f"dataset.path={names[0]}", f"system.path={names[1]}")
    if way == "address":
        more = tuple(
            f"{part}.path={(data / name).as_uri()}"
            for part, name in (("dataset", "data.jsonl"), ("system", "outputs.jsonl"))
        )
    if way == "limit":
        (data / "data.jsonl").write_bytes(b"\xef\xbb\xbf" + (data / "data.jsonl").read_bytes())
        more = ("limit=40",)
    if way == "strip":
        more = ("postprocess=strip",)
    ran(cli, *STORED, *more, "output_dir=one")
    monkeypatch.setattr("harness.run.answers.Answered.read_by", None)  # nothing is sent
    called = ran(cli, *STORED, *more, "output_dir=two", "engine=ray", "engine.replicas=2")
    assert files(data / "one") == files(data / "two")
    assert "sent to replicas" not in called.err


@pytest.mark.usefixtures("_far")
@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("blank", "data.jsonl has lines that are no rows"),
        pytest.param("csv", "data.csv is neither JSON lines nor Parquet", marks=SLOW),
        pytest.param("groups", "data.parquet has row groups of more than 7 rows", marks=SLOW),
        pytest.param("text", "the outputs of outputs are in no file that is read by blocks", marks=SLOW),
    ],
)
def test_what_goes_through_the_driver(
    way: str, reason: str, data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    more: tuple[str, ...] = ("metrics=exact_match",)
    if way == "blank":
        (data / "data.jsonl").write_text((data / "data.jsonl").read_text().replace("\n", "\n\n", 1))
    if way == "csv":
        rows = "".join(f"é{i},s,r {i}\n" for i in range(N))
        (data / "data.csv").write_text(f"id,source,references\n{rows}")
        more = (*more, "dataset.path=data.csv", "dataset.cluster=null")
    if way == "groups":
        monkeypatch.setattr("harness.inputs.row_index.LARGEST", 1)
        more = (*more, f"dataset.path={as_parquet(data / 'data.jsonl', 'data.parquet')}")
    if way == "text":
        (data / "outputs.txt").write_text("a\n" * N)
        more = (*more, "system.path=outputs.txt")
    ran(cli, *STORED, *more, "output_dir=one")
    called = ran(cli, *STORED, *more, "output_dir=two", "engine=ray", "engine.replicas=1")
    assert files(data / "one") == files(data / "two")
    assert called.err == f"harness: blocks of the data are sent to replicas from here: {reason}\n"


@pytest.mark.usefixtures("_far")
def test_a_node_that_does_not_have_the_data(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor has one of which the file was changed since it was read."""
    ran(cli, *STORED, "output_dir=one")

    def removed(*arguments: Any) -> Any:
        (data / "data.jsonl").unlink(missing_ok=True)
        return monkeypatch

    monkeypatch.setattr("harness.run.runner.finished.unchanged", lambda *arguments: removed() and None)
    called = ran(cli, *STORED, "output_dir=two", "engine=ray", "engine.replicas=1")
    assert files(data / "one") == files(data / "two")
    assert f"sent to replicas from here: {data / 'data.jsonl'} is not on the node " in called.err


DEADLY = ("metrics=exact_match", "+metrics.words._target_=mine.Deadly")


@pytest.mark.slow
def test_a_replica_that_is_killed(data: Path, cli: Cli) -> None:
    (data / "killed-0").touch()
    ran(cli, *STORED[:6], *DEADLY, "stats.resamples=200", "tracking=none", "output_dir=whole")
    (data / "killed-0").unlink()
    called = ran(
        cli,
        *STORED[:6],
        *DEADLY,
        "stats.resamples=200",
        "tracking=none",
        "output_dir=killed",
        "engine=ray",
        "engine.replicas=2",
    )
    assert files(data / "whole") == files(data / "killed")
    assert engine_of(data / "killed")["lost"] == 1
    assert "1 replica lost; what was held there was done again" in called.err
    assert "raylet" not in called.err


def test_what_is_lost_again_and_again(data: Path, cli: Cli) -> None:
    called = cli(
        *STORED[:6],
        *DEADLY,
        "+metrics.words.kills=9",
        "tracking=none",
        "engine=ray",
        "engine.replicas=1",
        "engine.tries=2",
    )
    assert called.code == 1
    assert (
        "the replicas that worked on one of the blocks (number 2) were lost 2 times, the last on the node" in called.err
    )
    assert "expected one to finish in engine.tries=2" in called.err


# ---------------------------------------------------------------- generation


@pytest.mark.slow
def test_generation_on_two_replicas(data: Path, cli: Cli) -> None:
    """Planned batches go to whoever is free; the outputs are those of one process, also where they depend on the
    batch, and where the replica that has one is killed."""
    ran(cli, *GENERATED, "output_dir=one")
    (data / "calls.txt").unlink()
    ran(cli, *GENERATED, "output_dir=two", "engine=ray", "engine.replicas=2", "+system.deadly=true")
    assert files(data / "one") == files(data / "two")
    calls = read_calls(data / "calls.txt")
    assert len({call.process for call in calls}) >= 2
    assert engine_of(data / "two")["lost"] == 1
    assert engine_of(data / "two")["again"] == 1
    manifest = json.loads((data / "two" / "manifest.json").read_text())
    assert manifest["generation"]["generated"] == N


@pytest.mark.slow
def test_too_many_failures_and_then_again(data: Path, cli: Cli) -> None:
    failing = (*GENERATED, '+system.failing=["é3","é30"]', "output_dir=run", "engine=ray", "engine.replicas=2")
    called = cli(*failing, "max_failed=0", "output_dir=ended")
    assert called.code == 1
    assert " of 60 outputs failed, the first with: refused\nmax_failed=0 allows 0." in called.err
    ran(cli, *failing)
    (data / "mended").touch()
    (data / "calls.txt").unlink()
    ran(cli, *failing, "retry_failed=true")
    assert sorted(asked for call in read_calls(data / "calls.txt") for asked in call.asked) == ["é3", "é30"]


def test_what_a_system_found_in_the_data_goes_with_it(data: Path, cli: Cli) -> None:
    """`system=random` looks at all examples before it answers."""
    for name, more in (("one", ()), ("two", ("engine=ray", "engine.replicas=2"))):
        ran(
            cli,
            *STORED[:3],
            "system=random",
            "metrics=exact_match",
            "stats.resamples=50",
            "tracking=none",
            "cache=none",
            f"output_dir={name}",
            *more,
        )
    assert files(data / "one") == files(data / "two")


@pytest.mark.slow
def test_a_model_on_two_replicas_of_one_core(data: Path, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The outputs of one process with one thread; and what a replica warns of is said once."""
    pytest.importorskip("transformers")
    from tests.systems import tiny

    folder = tiny.make("causal", tmp_path_factory.mktemp("models") / "causal")
    model = (
        "system=huggingface", f"system.model={folder}", "system.chat=false", "system.max_new_tokens=8",
        "system.batch_tokens=150", "system.device=cpu", "metrics=exact_match", "tracking=none", "cache=none",
    )  # fmt: skip
    ran(cli, *STORED[:3], *model, "output_dir=one", "engine.threads=1")
    called = ran(cli, *STORED[:3], *model, "output_dir=two", "engine=ray", "engine.replicas=2")
    assert files(data / "one") == files(data / "two")
    assert called.err.count("a few tokens of an output can depend on the batch it is made in") == 1


@pytest.mark.slow
def test_a_run_that_stops_early(data: Path, cli: Cli) -> None:
    stop = ("stop.score=token_f1", "stop.width=90", "stop.batch=20")
    ran(cli, *GENERATED, *stop, "output_dir=one")
    ran(cli, *GENERATED, *stop, "output_dir=two", "engine=ray", "engine.replicas=2")
    assert files(data / "one") == files(data / "two")


# ---------------------------------------------------------------- what is wrong


def test_an_error_of_the_work_is_the_users(data: Path, cli: Cli) -> None:
    with pytest.raises(TypeError, match="argument of type 'int' is not iterable"):
        cli(*GENERATED, "+system.failing=5", "engine=ray", "engine.replicas=1")
    called = cli(*GENERATED, "+system.raise_after=2", "output_dir=x", "engine=ray", "engine.replicas=1")
    assert called.code == 1
    assert called.err.startswith("harness: the system canned was told to stop after 2 batches (on the node ")


def test_an_error_of_any_kind_is_raised() -> None:
    with Ray(replicas=1) as engine, pytest.raises(ZeroDivisionError) as raised:
        list(engine.map(Recipe("mine.Share", {"of": 6}, int), [1, 0], unheard))
    assert "in a replica:" in raised.value.__notes__[0]


def test_a_module_that_a_replica_cannot_import() -> None:
    options = {"target": "nowhere.to.be.Found", "options": {}, "where": "system"}
    with Ray(replicas=1) as engine, pytest.raises(HarnessError) as raised:
        list(engine.map(Recipe("harness.inputs.plugins.build", options, str), [1], unheard))
    message = str(raised.value)
    assert message.startswith("system._target_=nowhere.to.be.Found cannot be imported (No module named 'nowhere'")
    assert "(on the node " in message


def test_a_node_without_the_models_path(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file `driver` is there for the driver alone."""
    (data / "driver").touch()
    monkeypatch.syspath_prepend(data)
    import mine  # type: ignore[import-not-found]

    def key(system: Any) -> None:
        """Asked for before replicas are made."""
        (data / "driver").unlink(missing_ok=True)

    monkeypatch.setattr(mine.Answers, "key", key)
    called = cli(*GENERATED, "+system.broken=true", "engine=ray", "engine.replicas=1")
    assert called.code == 1
    assert "system.model=models/mine does not exist; expected a folder (on the node " in called.err


def test_more_gpus_than_there_are(data: Path, cli: Cli) -> None:
    called = cli(*STORED, "engine=ray", "engine.gpus_per_replica=1", "engine.replicas=3")
    assert called.code == 1
    (node,) = cluster.nodes()
    assert called.err == (
        "harness: engine.replicas=3 of 1 CPUs and 1 GPUs each do not fit; there is room for 0 on "
        f"{node}; expected no more than that\n"
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("engine.replicas=0", "engine.replicas=0; expected at least 1"),
        ("engine.tries=0", "engine.tries=0; expected at least 1"),
        ("engine.cpus_per_replica=0", "engine.cpus_per_replica=0; expected at least 1"),
        ("engine.gpus_per_replica=-1", "engine.gpus_per_replica=-1; expected at least 0"),
        ("engine.replicas=two", "engine.replicas is 'two'; expected a whole number or null"),
    ],
)
def test_options(option: str, message: str, data: Path, cli: Cli) -> None:
    called = cli(*STORED, "engine=ray", option)
    assert (called.code, called.err) == (1, f"harness: {message}\n")


def test_what_is_in_memory_is_not_read_again_on_this_machine(
    data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster.on_this_machine()
    monkeypatch.setattr("harness.run.answers.Located.block", None)
    called = ran(cli, *STORED, "metrics=exact_match", "output_dir=one", "engine=ray", "engine.replicas=1")
    assert called.err == ""
    monkeypatch.setattr(cluster, "nodes", lambda: [cluster.Node("192.0.2.1", 2.0, 0.0)])
    assert not cluster.on_this_machine()


def test_a_replica_loads_before_it_is_given_work(data: Path) -> None:
    recipe = Recipe("mine.Heavy", {}, str)
    (data / "weights").touch()
    with Ray(replicas=1) as engine:
        engine.begin(recipe)
        assert list(engine.map(recipe, ["a"], unheard)) == [(0, True)]
        assert 0 < engine.about()["start"] < 60
    (data / "weights").unlink()
    with Ray(replicas=1) as engine:
        assert list(engine.map(recipe, ["a"], unheard)) == [(0, False)]  # it is the work that says what is missing


def test_nothing_is_started_for_nothing() -> None:
    with Ray(address="127.0.0.1:1") as engine:
        assert list(engine.map(Recipe("builtins.str", {}, str), [], unheard)) == []


def test_an_address_where_no_cluster_is(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.imported(), "is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        called = cli(*STORED, "engine=ray", f"engine.address={address}")
    assert called.code == 1
    assert called.err == (
        f"harness: engine.address={address}: no Ray cluster answers there (Connection refused); expected the address of "
        "a head node (ray start --head prints it), or null to start a cluster here\n"
    )
    monkeypatch.setenv("RAY_ADDRESS", "ray://somewhere:10001")
    called = cli(*STORED, "engine=ray")
    assert called.err.startswith("harness: RAY_ADDRESS=ray://somewhere:10001 is not HOST:PORT; expected the address of")


def test_an_address_where_another_server_listens(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would wait for it without end."""
    monkeypatch.setattr(cluster.imported(), "is_initialized", lambda: False)
    with http_server() as address:
        called = cli(*STORED, "engine=ray", f"engine.address={address}")
    assert called.code == 1
    assert called.err.startswith(
        f"harness: engine.address={address}: no Ray cluster answers there (something else does: b'HTTP/1.0 ')"
    )
    called = cli(*STORED, "engine=ray", "engine.address=6379")
    assert called.err.startswith("harness: engine.address=6379 is not HOST:PORT; expected")


@contextmanager
def http_server() -> Iterator[str]:
    """The address of one that is no head node."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_without_ray(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    called = cli(*STORED, "engine=ray")
    assert called.code == 1
    assert called.err == (
        "harness: engine=ray needs ray, which is not installed; expected this package with its extra: "
        "pip install '.[ray]' in a checkout\n"
    )


def test_progress_tells_of_replicas() -> None:
    notes: list[str] = []
    with Ray(replicas=1) as engine:
        results = dict(engine.map(Recipe("mine.Share", {"of": 6}, int, noun="blocks"), range(1, 9), notes.append))
    assert results == {number: 6 // (number + 1) for number in range(8)}
    assert notes[0] == "starting Ray"
    assert any(note.startswith("1 of 1 replicas, 1 blocks in flight") for note in notes)
