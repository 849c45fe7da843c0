"""`harness merge`: the runs of all shards become the run of the whole data set, to the byte."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from harness.types import text_columns
from tests.conftest import Called, write_jsonl
from tests.made_up import ARGUMENTS, calls, install

Cli = Callable[..., Called]
RESULT = ("scores.json", "examples.parquet", "statistics.parquet")
N = 25
RUN = (
    "run", "dataset=file", "dataset.path=data.jsonl", "system=predictions", "system.path=outputs.jsonl",
    "metrics=[bleu,rouge,chrf,ter,nist,distinct]", "stats.resamples=100", "tracking=none",
)  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Repeats, failed outputs, fields of several kinds, some missing, in any order, one kind met late."""
    chance = random.Random(1)
    rows: list[dict[str, Any]] = []
    outputs = []
    for i in range(N):
        words = [chance.choice("abcdefgh") for _ in range(9)]
        row = {"id": f"é{i}", "source": " ".join(words), "references": [" ".join(words[::-1]), "a b c"][: 1 + i % 2]}
        own: dict[str, Any] = {"late": i if i < 20 else "many"} if i % 3 else {"early": None if i % 2 else 0.5}
        if i == 1:
            own = {"z": 1, "late": 1, "a": "x"}
        if i > 4:
            own |= {"a": "y", "list": [i, "x"][: 1 + i % 2], "z": 2**60 + i}
        rows.append({**row, "talk": f"t{i % 5}", "side": i % 5 % 2, "share": i / 7, "nested": {"i": [i]}, **own})
        for repeat in range(2):
            text = None if i in (4, 17) and repeat else " ".join(words[: 3 + (i + repeat) % 6])
            outputs.append({"id": f"é{i}", "repeat": repeat, "output": text})
    write_jsonl(tmp_path / "data.jsonl", rows)
    write_jsonl(tmp_path / "outputs.jsonl", outputs)
    return tmp_path


def good(called: Called) -> Called:
    assert called.code == 0, called.err
    return called


def run_shards(cli: Cli, n: int, *more: str, run: tuple[str, ...] = RUN) -> list[str]:
    for i in range(n):
        good(cli(*run, *more, f"dataset.shard={i}/{n}", f"output_dir=part{i}"))
    return [f"part{i}" for i in range(n)]


def manifest_of(folder: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(Path(folder, "manifest.json").read_text())
    return manifest


def assert_same(folder: str, other: str) -> None:
    for name in RESULT:
        assert Path(folder, name).read_bytes() == Path(other, name).read_bytes(), name


# ---------------------------------------------------------------- the bytes of the whole


@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("more", [(), ("dataset.cluster=talk", "stats.strata=side")], ids=["plain", "clusters"])
def test_the_bytes_of_the_whole_run(data: Path, cli: Cli, n: int, more: tuple[str, ...]) -> None:
    good(cli(*RUN, *more, "output_dir=whole"))
    parts = run_shards(cli, n, *more)
    called = good(cli("merge", *reversed(parts), "-o", "merged"))
    assert "run folder  merged" in called.out and "NIST" in called.out
    assert_same("merged", "whole")
    merged, whole = manifest_of("merged"), manifest_of("whole")
    for name in ("key", "result", "files", "health", "metrics", "dataset"):
        assert merged[name] == whole[name], name
    assert [part["shard"] for part in merged["shards"]] == [f"{i}/{n}" for i in range(n)]
    assert merged["started"] == manifest_of("part0")["started"]
    assert merged["ended"] == manifest_of(parts[-1])["ended"]


@pytest.mark.slow
def test_the_whole_config_finds_it_finished(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    good(cli("merge", *run_shards(cli, 3), "-o", "merged"))
    before = {name: Path("merged", name).stat().st_mtime_ns for name in RESULT}

    def computed(*_: object) -> None:
        raise AssertionError("scored again")

    monkeypatch.setattr("harness.run.runner.score", computed)
    good(cli(*RUN, "output_dir=merged"))
    assert {name: Path("merged", name).stat().st_mtime_ns for name in RESULT} == before
    assert len(manifest_of("merged")["shards"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("uri", [None, "sqlite:///other.db"])
def test_the_whole_is_logged(data: Path, cli: Cli, uri: str | None) -> None:
    """To the store of the shards or, where that is another than the user's own, to the one that is named."""
    tracked = ("tracking=mlflow", *([f"tracking.uri={uri}"] if uri else []), "metrics=[bleu]")
    parts = run_shards(cli, 2, *tracked)
    if uri:
        called = cli("merge", *parts, "-o", "merged")
        assert called.code == 1 and "the run folder names the store sqlite:///other.db, and you did not" in called.err
    good(cli("merge", *parts, "-o", "merged", *(["--uri", uri] if uri else [])))
    logged = manifest_of("merged")["mlflow"]
    assert logged["uri"] == (uri or f"sqlite:///{data}/runs/mlflow.db")
    assert logged["run_id"] not in [manifest_of(part)["mlflow"]["run_id"] for part in parts]


@pytest.mark.slow
def test_each_reference_against_the_others(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples have different numbers of rows, and some blocks have one row for each."""
    monkeypatch.setattr(text_columns, "BLOCK", 3)
    run = (*RUN[:3], "system=human", "metrics=[bleu,distinct]", *RUN[6:])
    rows = [json.loads(line) for line in Path("data.jsonl").read_text().splitlines()]
    for row in rows[:6]:
        row["references"] = row["references"][:1]
    write_jsonl(data / "data.jsonl", rows)
    good(cli(*run, "output_dir=whole"))
    good(cli("merge", *run_shards(cli, 3, run=run), "-o", "merged"))
    assert_same("merged", "whole")
    assert manifest_of("merged")["result"] == manifest_of("whole")["result"]


@pytest.mark.slow
def test_several_blocks_a_shard(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "BLOCK", 4)
    good(cli(*RUN, "output_dir=whole"))
    good(cli("merge", *run_shards(cli, 2), "-o", "merged"))
    assert pq.ParquetFile("merged/examples.parquet").num_row_groups > 2
    assert_same("merged", "whole")


@pytest.mark.slow
def test_a_shard_of_what_is_filtered_and_sampled(data: Path, cli: Cli) -> None:
    chosen = ("dataset.filter='id != \"é3\"'", "dataset.sample=14")
    good(cli(*RUN, *chosen, "output_dir=whole"))
    good(cli("merge", *run_shards(cli, 3, *chosen), "-o", "merged"))
    assert_same("merged", "whole")
    assert manifest_of("merged")["dataset"] == manifest_of("whole")["dataset"]


@pytest.mark.slow
def test_rows_are_not_computed_again_unless_they_were_fitted(
    data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = run_shards(cli, 2)
    from harness.run.scoring import Scorer

    computed: set[str] = set()
    rows = Scorer.rows

    def watched(scorer: Scorer, name: str, block: Any) -> Any:
        computed.add(name)
        return rows(scorer, name, block)

    monkeypatch.setattr(Scorer, "rows", watched)
    good(cli("merge", *parts, "-o", "merged"))
    assert computed == {"nist"}


@pytest.mark.slow
def test_rows_that_were_damaged_are_computed_again(data: Path, cli: Cli) -> None:
    good(cli(*RUN, "output_dir=whole"))
    parts = run_shards(cli, 2)
    content = bytearray(Path("part1/statistics.parquet").read_bytes())
    content[50:90] = bytes(40)
    Path("part1/statistics.parquet").write_bytes(content)
    good(cli("merge", *parts, "-o", "merged"))
    assert Path("merged/scores.json").read_bytes() == Path("whole/scores.json").read_bytes()


def test_a_shard_says_that_its_nist_is_its_own(data: Path, cli: Cli) -> None:
    called = good(cli(*RUN, "dataset.shard=1/2", "output_dir=part1"))
    assert "fitted to the references of shard 1/2 alone; harness merge fits it to those of all" in called.out
    scores = json.loads(Path("part1/scores.json").read_text())["scores"]
    assert "shard 1/2" in scores["nist"]["note"] and "note" not in scores["bleu"]


@pytest.mark.slow
def test_names_and_folders(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "name=mine")
    good(cli("merge", *parts))
    (folder,) = Path("runs/harness").iterdir()
    assert folder.name.startswith("mine-") and manifest_of(str(folder))["name"] == "mine"
    good(cli("merge", *parts, "-o", "it's ${here}", "--name", "a=b"))
    assert manifest_of("it's ${here}")["name"] == "a=b"
    document = json.loads(good(cli("merge", *parts, "-o", "third", "--json")).out)
    assert document["runs"][0]["examples"] == N and document["failures"] == []


@pytest.mark.slow
def test_shards_that_were_scored_again(data: Path, cli: Cli) -> None:
    good(cli(*RUN, "metrics=[bleu,chrf]", "output_dir=whole"))
    for part in run_shards(cli, 2, "metrics=[bleu]"):
        good(cli("score", part, "metrics=[chrf]", f"output_dir=again-{part}"))
    good(cli("merge", "again-part0", "again-part1", "-o", "merged"))
    assert_same("merged", "whole")


# ---------------------------------------------------------------- generated outputs


@pytest.mark.slow
@pytest.mark.parametrize("known", ["true", "false"])
def test_generated_outputs(data: Path, cli: Cli, known: str) -> None:
    install(data)
    Path("broken.txt").write_text("é3\n")
    run = (
        "run", *[word for word in ARGUMENTS[1:] if not word.startswith("dataset")], "dataset=file",
        "dataset.path=data.jsonl", "system.batch=1", f"system.known={known}", "system.repeats=2", "metrics=[bleu,nist]",
        "cache=none", "tracking=none", "system.price={input: 2, output: 3}",
    )  # fmt: skip
    good(cli(*run, "output_dir=whole"))
    good(cli("merge", *run_shards(cli, 3, run=run), "-o", "merged"))
    assert_same("merged", "whole")
    merged, whole = manifest_of("merged")["generation"], manifest_of("whole")["generation"]
    for name in ("generated", "cached", "input_tokens", "output_tokens", "cost", "latency_p50", "latency_p99"):
        assert merged[name] == pytest.approx(whole[name]), name
    asked = len(calls())
    good(cli(*run, "output_dir=merged"))
    assert len(calls()) == asked  # nothing is generated
    assert_same("merged", "whole")


def test_a_line_says_where_outputs_depend_on_their_batch_or_shard(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "system=random", "metrics=[bleu]", run=(*RUN[:3], *RUN[5:]))
    err = good(cli("merge", *parts, "-o", "merged")).err
    assert "random: its outputs are references of other examples of their shard; a run of the whole" in err
    for part in parts:
        changed(part, lambda manifest: manifest["system"].update(about={"batch_invariant": "false"}))
    err = good(cli("merge", *parts, "-o", "merged")).err
    assert "can depend on the batch that it was made in; a run of the whole data set may differ" in err


# ---------------------------------------------------------------- what cannot be merged


def refused(called: Called) -> str:
    assert called.code == 1 and "Traceback" not in called.err
    return called.err


def test_all_shards_each_once(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 3, "metrics=[bleu]")
    assert "2 of 3 shards are given, without 1/3; expected all" in refused(cli("merge", "part0", "part2", "-o", "x"))
    twice = refused(cli("merge", *parts, "part1", "-o", "x"))
    assert "shard 1/3 is given 2 times (part1, part1); expected once" in twice
    good(cli(*RUN, "metrics=[bleu]", "dataset.shard=1/4", "output_dir=fourth"))
    other = refused(cli("merge", "part0", "fourth", "part2", "-o", "x"))
    assert "part0 is shard 0/3 and fourth is shard 1/4; expected shards of one number" in other
    assert not Path("x").exists()


def test_one_config_one_system_one_data_set(data: Path, cli: Cli) -> None:
    run_shards(cli, 2, "metrics=[bleu]")
    good(cli(*RUN, "metrics=[bleu]", "dataset.shard=1/2", "output_dir=other", "metrics.bleu.lowercase=true"))
    different = refused(cli("merge", "part0", "other", "-o", "x"))
    assert "metrics.bleu.lowercase: False in part0, True in other" in different
    assert "dataset.shard" not in different and "output_dir" not in different
    lines = Path("outputs.jsonl").read_text().splitlines(keepends=True)
    Path("outputs.jsonl").write_text("".join(lines).replace('"output": "', '"output": "x ', 1))
    good(cli(*RUN, "metrics=[bleu]", "dataset.shard=1/2", "output_dir=other-system"))
    assert "expected the same system for all shards" in refused(cli("merge", "part0", "other-system", "-o", "x"))
    Path("outputs.jsonl").write_text("".join(lines))
    Path("data.jsonl").write_text(Path("data.jsonl").read_text().replace('"share"', '"part"', 1))
    good(cli(*RUN, "metrics=[bleu]", "dataset.shard=1/2", "output_dir=other-data"))
    assert "part0 and other-data are shards of different data" in refused(
        cli("merge", "part0", "other-data", "-o", "x")
    )


def test_not_the_run_of_a_shard(data: Path, cli: Cli) -> None:
    good(cli(*RUN, "metrics=[bleu]", "output_dir=whole"))
    assert "whole is not the run of a shard (dataset.shard is None)" in refused(cli("merge", "whole", "-o", "x"))
    good(cli(*RUN, "metrics=[bleu]", "dataset.shard=0/2", "limit=3", "output_dir=limited"))
    assert "limited was run with limit=3, which each shard counts" in refused(cli("merge", "limited", "-o", "x"))
    Path("empty").mkdir()
    assert "empty is not a finished run" in refused(cli("merge", "empty", "-o", "x"))
    assert "there is no run 'nowhere'" in refused(cli("merge", "nowhere", "-o", "x"))
    assert cli("merge", "-o", "x").code == 2


def test_a_folder_that_holds_another_run(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    assert "part0 holds a run of another config" in refused(cli("merge", *parts, "-o", "part0"))


# ---------------------------------------------------------------- folders of strangers


def changed(folder: str, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = manifest_of(folder)
    change(manifest)
    Path(folder, "manifest.json").write_text(json.dumps(manifest))


def test_a_folder_of_before(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    changed("part1", lambda manifest: manifest["dataset"].pop("content"))
    assert "expected the shard to be run again" in refused(cli("merge", *parts, "-o", "x"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"content": {"rows": 12, "sum": "zz", "whole": "a"}}, "'zz' for 'dataset.content.sum'"),
        ({"content": {"rows": 12, "sum": "0" * 32}}, "are shards of different data"),
        ({"fields": {"late": {"first": "0", "json": True}}}, "'0' for 'dataset.fields.late.first'"),
        ({"fields": {"talk": {"first": 0, "json": True}}}, "talk is not the JSON that manifest.json says it is"),
    ],
)
def test_a_manifest_that_lies(data: Path, cli: Cli, change: dict[str, Any], message: str) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    changed("part1", lambda manifest: manifest["dataset"].update(change))
    assert message in refused(cli("merge", *parts, "-o", "x"))


@pytest.mark.slow
def test_examples_that_are_not_those_of_the_shard(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    shutil.copy("part0/examples.parquet", "part1/examples.parquet")
    assert "part1 has 13 examples; expected 12, since all 2 shards have 25" in refused(cli("merge", *parts, "-o", "x"))
    for part in parts:
        shutil.rmtree(part)
    parts = run_shards(cli, 5, "metrics=[bleu]")
    shutil.copy("part0/examples.parquet", "part1/examples.parquet")
    assert "the example 'é0' is twice in part0 and part1" in refused(cli("merge", *parts, "-o", "x"))


def test_links_and_code_of_strangers(data: Path, cli: Cli) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    Path("part1/examples.parquet").rename("elsewhere")
    Path("part1/examples.parquet").symlink_to(Path("elsewhere").absolute())
    assert "symbolic link" in refused(cli("merge", *parts, "-o", "x"))
    Path("part1/examples.parquet").unlink()
    Path("elsewhere").rename("part1/examples.parquet")

    def name_code(manifest: dict[str, Any]) -> None:
        manifest["config"]["metrics"]["bleu"] = {"_target_": "theirs.Metric"}

    for part in parts:
        changed(part, name_code)
    assert "names theirs.Metric, and you did not; expected --trust" in refused(cli("merge", *parts, "-o", "x"))


def test_a_table_that_expands_to_more_than_a_run_has(data: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = run_shards(cli, 2, "metrics=[bleu]")
    monkeypatch.setattr("harness.inputs.expanded.room", lambda: 100)
    monkeypatch.setattr("harness.inputs.expanded.TIMES", 0)
    message = refused(cli("merge", *parts, "-o", "x"))
    assert "part0/examples.parquet cannot be read (more than 100 bytes of rows" in message
