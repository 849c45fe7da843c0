"""The commands as a person calls them, in processes of their own where that matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

import pytest

from harness.run.config import conf_dir
from tests.conftest import ROWS, Called, write_jsonl
from tests.made_up import write_run

Cli = Callable[..., Called]
HEAVY = ("torch", "transformers", "datasets", "mlflow")


def harness(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300,
    )  # fmt: skip


def imported_by(code: str, cwd: Path) -> set[str]:
    code += "\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True)
    return {line.split(".")[0] for line in done.stdout.splitlines()}


def test_wrong_usage_names_what_lacks_and_where_to_look(cli: Cli) -> None:
    for command, lacking in (("reproduce", "RUN|BUNDLE"), ("score", "RUN")):
        done = cli(command)
        assert (done.code, done.out) == (2, "")
        assert done.err.endswith(f"harness {command}: error: the following arguments are required: {lacking}\n")
    done = cli("comapre")
    assert done.code == 2 and done.err.endswith("(did you mean 'compare'?)\n")
    done = cli("compare", "one", "two", "--nope")
    assert done.code == 2
    assert done.err.endswith("unrecognized arguments: --nope (harness compare --help shows those it has)\n")


def test_help_shows_what_a_person_would_type(tmp_path: Path) -> None:
    shown = harness("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "harness run dataset=file dataset.path=dev.jsonl system=predictions system.path=sysA.jsonl" in shown.stdout
    run = harness("run", "--help", cwd=tmp_path)
    assert run.returncode == 0
    assert "harness run --multirun" in run.stdout
    for group in ("dataset", "system", "metrics"):
        choices = ", ".join(sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")))
        assert f"{group}: {choices}" in run.stdout
    assert list(tmp_path.iterdir()) == []
    script = subprocess.run([Path(sys.executable).parent / "harness", "--help"], capture_output=True, text=True)
    assert script.stdout == shown.stdout


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import harness.cli.main\ntry: harness.cli.main.main(['--help'])\nexcept SystemExit: pass"
    assert not imported_by(code, tmp_path) & {*HEAVY, "numpy", "pandas", "hydra"}


def test_config_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import harness.cli.main\ntry: harness.cli.main.main(['run', '--cfg', 'job'])\nexcept SystemExit: pass"
    assert not imported_by(code, tmp_path) & {*HEAVY}


def test_a_run_of_a_system_imports_nothing_for_checkpoints_or_servers(tmp_path: Path) -> None:
    code = """
import sys
from harness.cli.main import main
main(["run", "system=lead", "limit=5", "metrics=[bleu]", "stats.resamples=50", "tracking=none", "progress=false"])
needless = {"harness.analysis.comparing.training_curves", "http.client", "ssl"} & set(sys.modules)
assert not needless, needless
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


VIEWS = {
    "compare": (), "power": (), "best": (), "table": (), "plot": ("--figure", "buckets", "--format", "svg"),
    "report": ("-o", "report.html"),
}  # fmt: skip
"""Commands that show several stored runs."""


@pytest.mark.slow
def test_views_of_stored_runs_do_not_import_pandas(files: Path) -> None:
    """In one process; the first command that loads it is named."""
    rows = [{**row, "year": [1999, None][i % 2], "tags": ["a"] * i} for i, row in enumerate(ROWS)]
    write_jsonl(files / "dev.jsonl", rows)
    commands = [["run", *LEXICAL, f"system.path={name}.jsonl", "stats.resamples=50"] for name in ("good", "bad")]
    commands += [["runs"], *([view, "dev-good", "dev-bad", "--resamples=50", *more] for view, more in VIEWS.items())]
    code = f"""
import contextlib, io, sys
from harness.cli.main import main
for command in {commands}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main(command)
        except SystemExit as ended:
            assert not ended.code, (command, errors.getvalue())
    assert "pandas" not in sys.modules, command
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_wrong_usage_is_2(cli: Cli) -> None:
    for arguments in ((), ("nope",), ("compare",), ("run", "--nope"), ("compare", "a", "b", "--test", "magic")):
        done = cli(*arguments)
        assert done.code == 2, arguments
        assert "usage:" in done.err
        assert "Traceback" not in done.err


def test_what_is_no_override_is_wrong_usage_too(cli: Cli) -> None:
    for word, why in (("dev.jsonl", "it has no ="), ("name=é", "it has"), ("tracking.uri=sqlite:///x.db?a=b", "")):
        done = cli("run", word)
        assert done.code == 2
        assert done.err.startswith(f"harness: {word} is not an override ({why}")
        assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("dataset.path=Übersetzung final.csv", "'dataset.path=\"Übersetzung final.csv\"'"),
        ("system.field=[größe,hyp]", '\'system.field=["größe","hyp"]\''),
        ("dataset.path=ä.csv,ö.csv", '\'dataset.path="ä.csv","ö.csv"\''),
        ('system.prompt=Say "hi", please: {{ source }}', '\'system.prompt="Say \\"hi\\", please: {{ source }}"\''),
        ('+system.options.p=é,"a b",null,1e-5,[1,2]', '\'+system.options.p="é","a b",null,1e-5,[1,2]\''),
        ("+system.options.p=it's,null,{a: 1},ß", '\'+system.options.p="it\'"\'"\'s",null,{a: 1},"ß"\''),
        ("system=lead limit=5", None),
    ],
)
def test_what_needs_quotes_is_shown_with_them(cli: Cli, word: str, typed: str | None) -> None:
    called = cli("run", word)
    assert called.code == 2
    assert called.err.strip().endswith(f"in quotes{f', as {typed}' if typed else ''}")


def test_without_a_command_all_are_shown(cli: Cli) -> None:
    called = cli()
    assert (called.code, called.out) == (2, "")
    assert "    report      one HTML file" in called.err


def test_debug_shows_the_traceback(tmp_path: Path, cli: Cli) -> None:
    for arguments in (("run", "dataset=file", "dataset.path=nope.jsonl"), ("compare", "a", "b")):
        plain, debug = cli(*arguments), harness(*arguments, "--debug", cwd=tmp_path)
        assert (plain.code, debug.returncode) == (1, 1)
        assert len(plain.err.strip().splitlines()) == 1
        assert plain.err.startswith("harness: ")
        assert "Traceback" in debug.stderr
    full = harness("run", "dataset=file", "dataset.path=nope.jsonl", cwd=tmp_path, HYDRA_FULL_ERROR="1")
    assert (full.returncode, "Traceback" in full.stderr) == (1, True)


LEXICAL = ("dataset=file", "dataset.path=dev.jsonl", "system=predictions", "metrics=lexical", "tracking=none")


def test_compare_of_stored_runs(files: Path, cli: Cli) -> None:
    for name in ("good", "bad"):
        done = cli("run", *LEXICAL, f"system.path={name}.jsonl")
        assert done.code == 0, done.err
    compared = cli("compare", "dev-bad", "dev-good")
    assert compared.code == 0, compared.err
    assert "dev: n = 4 examples, paired bootstrap" in compared.out
    assert "dev-good against dev-bad" in compared.out
    assert cli("compare", "runs/*/dev-*").out == compared.out  # which no shell saw
    nothing = cli("compare", "runs/*/no-*")
    assert (nothing.code, "there is no run 'runs/*/no-*'" in nothing.err) == (1, True)
    judged = [line.split() for line in compared.out.splitlines() if line.strip().endswith("too few to tell")]
    assert [words[0] for words in judged] == ["BLEU", "ROUGE-1", "ROUGE-2", "ROUGE-L", "ROUGE-Lsum"]
    one_sided = cli("compare", "dev-good", "--baseline", "dev-bad", "--json", "--test", "randomization")
    answer = json.loads(one_sided.out)
    assert {k: answer[k] for k in ("schema", "test", "correction", "level")} == {
        "schema": 1, "test": "randomization", "correction": "max-t", "level": 0.95,
    }  # fmt: skip
    assert [row["score"] for row in answer["comparisons"]] == ["bleu", "rouge1", "rouge2", "rougeL", "rougeLsum"]
    row = answer["comparisons"][0]
    assert set(row) >= {
        "dataset", "baseline", "system", "score", "n", "excluded", "difference", "low", "high", "p_value", "p_adjusted",
        "verdict", "smallest_detectable",
    }  # fmt: skip
    assert (row["dataset"], row["baseline"], row["system"], row["n"]) == ("dev", "dev-bad", "dev-good", 4)
    assert row["difference"] > 0
    assert {row["alternative"] for row in [answer]} == {"two-sided"}
    assert (answer["macro_average"], answer["rankings"]) == ([], [])
    assert (row["verdict"], row["smallest_detectable"]) == ("too few to tell", None)
    assert "6 examples are the fewest that could show a difference at 0.05" in compared.out
    margins = ("--margin", "rougeL=0.9", "--margin", "bleu=99")
    within = json.loads(cli("compare", "dev-bad", "dev-good", *margins, "--json").out)
    assert within["margins"] == {"rougeL": 0.9, "bleu": 99}
    by_score = {row["score"]: row for row in within["comparisons"]}
    assert by_score["rouge1"]["margin"] is by_score["rouge1"]["p_equivalent"] is None
    assert 0 < by_score["rougeL"]["p_not_worse"] <= by_score["rougeL"]["p_equivalent"] <= 1
    for margin, expected in (("bleu", "'' is no number; expected SCORE=X"), ("x=1", "no run has the score 'x'")):
        refused = cli("compare", "dev-bad", "dev-good", "--margin", margin)
        assert (refused.code, len(refused.err.strip().splitlines())) == (1, 1)
        assert expected in refused.err
    assert not imported_by(
        "import harness.cli.main; harness.cli.main.main(['compare', 'dev-bad', 'dev-good', '--json'])", files
    ) & {*HEAVY}  # fmt: skip


def test_compare_refuses_with_one_message(files: Path, cli: Cli) -> None:
    assert cli("run", *LEXICAL, "system.path=good.jsonl").code == 0
    assert cli("run", *LEXICAL, "system.path=bad.jsonl", "limit=3", "name=part").code == 0
    assert cli("run", *LEXICAL, "system.path=bad.jsonl", "metrics.bleu.tokenize=char", "name=char").code == 0
    assert cli("run", *LEXICAL, "system.path=bad.jsonl", "name=copy").code == 0
    assert cli("run", *LEXICAL, "system.path=bad.jsonl").code == 0
    for arguments, expected in (
        (("dev-good", "part"), "dev-good and part are runs on different data"),
        (("dev-good", "char"), "bleu of dev-good and char are defined differently (tok: 13a and char)"),
        (("dev-good", "dev-bda"), "there is no run 'dev-bda' (did you mean 'dev-bad'?); expected a run folder"),
        (("dev-good", "nobody"), "there is no run 'nobody'; expected a run folder, the name of a finished run"),
        (("dev-good", "dev-good"), "the same run twice; expected at least 2"),
        (
            ("dev-good", "copy", "--score", "blue"),
            "no run has the score 'blue' (did you mean 'bleu'?); expected one of bleu, rouge1",
        ),
        (("dev-good", "copy", "--level", "95"), "level=95.0; expected a share between 0 and 1"),
    ):
        done = cli("compare", *arguments)
        assert done.code == 1
        assert expected in done.err
        assert len(done.err.strip().splitlines()) == 1


def test_power_and_best_of_stored_runs(files: Path, cli: Cli) -> None:
    for name in ("good", "bad"):
        assert cli("run", *LEXICAL, f"system.path={name}.jsonl").code == 0
    printed = cli("power", "dev-bad", "dev-good", "--difference", "5", "--score", "bleu")
    assert printed.code == 0, printed.err
    assert "dev: dev-good against dev-bad, n = 4 examples" in printed.out
    refused = cli("power", "dev-bad", "dev-good", "--difference", "5")
    assert refused.code == 1
    assert "difference=5 for scores of 2 metrics (bleu, rouge), which need not be on one scale" in refused.err
    assert "expected scores of one metric, such as --score bleu" in refused.err
    asked = ("--difference", "5", "--score", "bleu", "--json")
    answer = json.loads(cli("power", "dev-bad", "dev-good", *asked).out)
    row = answer["rows"][0]
    assert (row["score"], row["difference"], row["n"]) == ("bleu", 5, 4)
    assert (row["smallest_detectable"], row["power"]) == (None, 0)  # four examples show nothing at 0.05
    quantiles = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)  # Student's asks for two more units
    assert row["needed"] == pytest.approx(4 * (quantiles * row["standard_error"] / 5) ** 2, abs=3)
    printed = cli("best", "dev-bad", "dev-good")
    assert printed.code == 0, printed.err
    assert "dev: the best of 2 runs, n = 4 examples" in printed.out
    rows = json.loads(cli("best", "dev-bad", "dev-good", "--json").out)["rows"]
    assert [(row["score"], row["system"]) for row in rows] == [
        (score, "dev-good") for score in ("bleu", "rouge1", "rouge2", "rougeL", "rougeLsum")
    ]


def test_ui_without_a_store(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    done = cli("ui")
    assert done.code == 1
    assert "runs/mlflow.db does not exist; expected the store of earlier runs" in done.err
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    remote = cli("ui")
    assert remote.code == 0
    assert "http://127.0.0.1:9" in remote.out


def test_ui_opens_the_store_of_the_newest_run(tmp_path: Path, cli: Cli) -> None:
    for name, port in (("a", 9), ("c", 7), ("b", 8)):
        uri = f"http://127.0.0.1:{port}"
        write_run(
            tmp_path / "runs" / name, name, ended=f"2026-03-0{10 - port}T10:00:00+00:00",
            mlflow={"run_id": name, "uri": uri, "where": name},
        )  # fmt: skip
    assert "open http://127.0.0.1:7/#/experiments" in cli("ui").out
    help_text = " ".join(cli("ui", "--help").out.split())
    assert "MLFLOW_TRACKING_URI, else the store of the newest run below runs/, else runs/mlflow.db" in help_text


@pytest.mark.parametrize("folder", ["runs/mine", "elsewhere/deep"])
def test_output_dir_of_a_multirun_is_the_parent(files: Path, folder: str, cli: Cli) -> None:
    done = cli(
        "run", *LEXICAL, "--multirun", "system.path=good.jsonl,bad.jsonl", f"output_dir={folder}"
    )  # fmt: skip
    assert done.code == 0, done.err
    names = sorted(path.name.rsplit("-", 1)[0] for path in (files / folder).iterdir())
    assert names == ["dev-bad", "dev-good"]
    assert "good" in done.out
    assert "harness compare" in done.out
    assert not list(files.rglob("multirun.yaml"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("runs",), ("runs", "--json"), ("--version",)])
def test_standard_output_that_cannot_be_written(tmp_path: Path, arguments: tuple[str, ...], buffered: str) -> None:
    write_run(tmp_path / "runs" / "a", "a")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "harness", *arguments],
            cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": buffered}, timeout=300,
        )  # fmt: skip
    assert done.stderr == "harness: standard output cannot be written (No space left on device)\n"
    assert done.returncode == 1


def test_the_error_of_a_file_is_not_that_of_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.cli import main

    def full(arguments: list[str]) -> None:
        print("so far")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(main, "_main", full)
    with pytest.raises(OSError, match="No space left"):
        main.main([])


FROZEN = """
import atexit, gc, sys
from harness.cli.main import main
atexit.register(lambda: print(gc.get_freeze_count() > 0))
sys.argv = ["harness", "--version"]
main(*map(eval, sys.stdin))
"""


@pytest.mark.parametrize(("arguments", "frozen"), [("", "True"), ("['--version']", "False")])
def test_a_process_ends_without_looking_for_garbage(arguments: str, frozen: str) -> None:
    """The program's own; one that calls `main` from Python is left as it is."""
    command = [sys.executable, "-c", FROZEN]
    ended = subprocess.run(command, input=arguments, capture_output=True, text=True, check=True)
    assert ended.stdout.split()[-1] == frozen
