"""`harness gate`: verdicts and exit codes, policies, JUnit, Markdown, JSON, and one message for each bad input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

import harness
from harness.analysis.gate import policies
from harness.analysis.gate.gating import gate
from harness.stats.options import ComparisonOptions
from harness.types import HarnessError
from tests.conftest import Called, called_in, write_jsonl

N = 60
RIGHT = {"old": 6, "same": 6, "bad": 3, "good": 9}
"""How many of an output's ten words are those of its reference."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of four systems on one data set in two domains; `slip` is `same`, but bad in one domain."""
    place = tmp_path_factory.mktemp("gate")
    rng = np.random.default_rng(7)
    words = [[f"w{k}" for k in rng.integers(0, 900, 10)] for _ in range(N)]
    domains = ["news" if i % 3 else "legal" for i in range(N)]
    rows = zip(words, domains, strict=True)
    write_jsonl(
        place / "dev.jsonl",
        [{"id": f"{i}", "references": [" ".join(text)], "domain": domain} for i, (text, domain) in enumerate(rows)],
    )
    for name in (*RIGHT, "slip"):
        chance = np.random.default_rng(RIGHT.get(name, 6) + 12 * (name == "same"))
        kept = [int(np.clip(RIGHT.get(name, 6) + chance.integers(-1, 2), 0, 10)) for _ in range(N)]
        if name == "slip":
            kept = [2 if domain == "legal" else k + 1 for k, domain in zip(kept, domains, strict=True)]
        outputs = [" ".join([*text[:k], *["x"] * (10 - k)]) for text, k in zip(words, kept, strict=True)]
        write_jsonl(place / f"{name}.jsonl", [{"id": f"{i}", "output": text} for i, text in enumerate(outputs)])
        overrides = [
            "dataset=file", f"dataset.path={place}/dev.jsonl", "system=predictions", f"system.path={place}/{name}.jsonl",
            "metrics=[token_f1,bleu]", "tracking=none", "progress=false", "stats.resamples=200",
            f"output_dir={place}/{name}",
        ]  # fmt: skip
        called_in(place, "run", *overrides)
    return place


def gated(cli: Callable[..., Called], folder: Path, new: str, *more: str) -> Called:
    return cli("gate", str(folder / new), "--baseline", str(folder / "old"), "--resamples=500", "--no-progress", *more)


@pytest.mark.parametrize(
    ("new", "arguments", "code", "verdict"),
    [
        ("good", [], 0, "better"),
        ("good", ["--margin", "token_f1=1"], 0, "better"),
        ("same", ["--margin", "token_f1=5"], 0, "not worse"),
        ("same", ["--margin", "token_f1=0.01"], 3, "cannot tell"),
        ("same", ["--score", "token_f1"], 3, "cannot tell"),
        ("same", ["--score", "token_f1", "--on-unknown=pass"], 0, "cannot tell"),
        ("same", ["--score", "token_f1", "--on-unknown=fail"], 1, "cannot tell"),
        ("bad", ["--margin", "token_f1=5", "bleu=5"], 1, "worse"),
        ("bad", ["--margin", "token_f1=90"], 0, "not worse"),
    ],
)
def test_verdicts_and_exit_codes(
    cli: Callable[..., Called], folder: Path, new: str, arguments: list[str], code: int, verdict: str
) -> None:
    called = gated(cli, folder, new, *arguments, "--json")
    answer = json.loads(called.out)
    assert (called.code, answer["verdict"], answer["exit_code"]) == (code, verdict, code)


def test_what_cannot_be_told_says_what_would(cli: Callable[..., Called], folder: Path) -> None:
    called = gated(cli, folder, "same", "--margin", "token_f1=0.1", "--json", "--resamples=4000")
    (check,) = json.loads(called.out)["checks"]
    assert check["needed"] > N
    passed = check["margin_passed"]
    assert passed > 0.1 and f"a margin of {passed:.2f} would pass" in check["reason"]
    wide_enough = gated(cli, folder, "same", "--margin", f"token_f1={passed}", "--resamples=4000")
    too_narrow = gated(cli, folder, "same", "--margin", f"token_f1={passed * 0.8}", "--resamples=4000")
    assert (wide_enough.code, too_narrow.code) == (0, 3)


def test_in_python_it_takes_one_run_or_several_and_prints_as_a_table(folder: Path) -> None:
    new, old = folder / "bad", folder / "old"
    answer = harness.gate(new, baseline=str(old), margins={"token_f1": 0.5}, resamples=500)
    several = harness.gate([harness.load_run(new)], baseline=[old], margins={"token_f1": 0.5}, resamples=500)
    assert answer == several and (answer.verdict, answer.code) == ("worse", 1)
    title, head, line = repr(answer).splitlines()
    assert title == "Worse: Token F1." and head.split()[-2:] == ["verdict", "because"] and "not worse by 0.5" in line
    assert "<caption" in answer._repr_html_()


def test_not_worse_is_not_corrected_and_worse_is(folder: Path) -> None:
    policy = policies.read({"scores": {"token_f1": 5, "bleu": 20}}, "here")
    options = ComparisonOptions(resamples=500)
    both = gate([folder / "bad"], [folder / "old"], policy, options)
    alone = gate([folder / "bad"], [folder / "old"], policies.read({"scores": {"token_f1": 5}}, "here"), options)
    together, single = both.checks[0].row, alone.checks[0].row
    assert together is not None
    assert single is not None
    assert together.p_not_worse == single.p_not_worse
    assert (together.p_adjusted or 0) >= (single.p_adjusted or 0)


def test_a_policy_with_slices_floors_and_limits(cli: Callable[..., Called], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(
        "scores: {token_f1: {margin: 10, floor: 30}}\n"
        "slices: {domain=legal: {token_f1: 10}, domain=news: {token_f1: 10}}\n"
        "limits: {health/empty: baseline, run/failed: 0}\n"
    )
    called = gated(cli, folder, "slip", "--policy=gate.yaml", "--junit=out.xml", "--markdown=out.md", "--json")
    checks = json.loads(called.out)["checks"]
    assert [(check["what"], check["slice"], check["asked"]) for check in checks] == [
        ("token_f1", None, "not worse by 10"),
        ("token_f1", None, "at least 30"),
        ("token_f1", "domain=legal", "not worse by 10"),
        ("token_f1", "domain=news", "not worse by 10"),
        ("health/empty", None, "at most the baseline's"),
        ("run/failed", None, "at most 0"),
    ]
    verdicts = {(check["slice"], check["asked"]): check["verdict"] for check in checks}
    assert called.code == 1
    assert verdicts["domain=legal", "not worse by 10"] == "worse"
    assert verdicts["domain=news", "not worse by 10"] in ("better", "not worse")
    assert verdicts[None, "at most the baseline's"] == "not worse"
    suite = Xml.parse(tmp_path / "out.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("tests") == "6"
    failures = sum(verdict == "worse" for verdict in verdicts.values())
    assert suite.get("failures") == str(failures)
    assert len(suite.findall("testcase/failure")) == failures
    assert "| **worse** |" in (tmp_path / "out.md").read_text()


@pytest.mark.parametrize(
    ("rules", "new", "verdict"),
    [
        ({"improve": True}, "good", "better"),
        ({"improve": True}, "same", "cannot tell"),
        ({"improve": 90}, "good", "worse"),
        ({"improve": 10}, "good", "better"),
        ({"floor": 99.9, "margin": 90}, "good", "worse"),
    ],
)
def test_improvement_and_floors(folder: Path, rules: dict[str, Any], new: str, verdict: str) -> None:
    policy = policies.read({"scores": {"token_f1": rules}}, "here")
    assert gate([folder / new], [folder / "old"], policy, ComparisonOptions(resamples=500)).verdict == verdict


def test_a_limit_in_percent_of_the_baseline() -> None:
    limit = policies.read({"limits": {"generation/cost": "baseline + 10%"}}, "here").limits["generation/cost"]
    assert limit.allowed(20.0) == pytest.approx(22)
    assert limit.allowed(None) is None


def test_what_a_run_does_not_say_cannot_be_told(cli: Callable[..., Called], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("limits: {generation/cost: 2}\n")
    called = gated(cli, folder, "same", "--policy=gate.yaml")
    assert called.code == 3
    assert "does not say" in called.out


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("scores: {bleu: {margn: 1}}", "scores.bleu has 'margn' (did you mean 'margin'?)"),
        ("scores: {bleu: -1}", "scores.bleu is -1; expected a difference above 0"),
        (f"scores: {{bleu: {'9' * 400}}}", "; expected a number"),
        ("scores: [bleu]", "expected names with what is asked of each"),
        ("scores: {blue: 1}", "no run has the score 'blue' (did you mean 'bleu'?)"),
        ("slices: {domain: {bleu: 1}}", "expected FIELD=VALUE"),
        ("slices: {domain=law: {bleu: 1}}", "expected one of domain=news, domain=legal"),
        ("limits: {empty: 1}", "expected a fact of a run"),
        ("limits: {health/emty: 1}", "a run has no 'health/emty' (did you mean 'health/empty'?)"),
        ("limits: {health/empty: +5%}", "expected a number, baseline, baseline + 0.01 or baseline + 10%"),
        ("on_unknown: maybe", "expected pass or fail"),
        ("score: {}", "has 'score' (did you mean 'scores'?)"),
        ("{", "is no YAML"),
    ],
)
def test_bad_policies_end_with_2(
    cli: Callable[..., Called], folder: Path, tmp_path: Path, policy: str, message: str
) -> None:
    (tmp_path / "gate.yaml").write_text(policy)
    called = gated(cli, folder, "same", "--policy=gate.yaml")
    assert called.code == 2
    assert message in called.err


def test_a_run_on_other_data_and_a_run_against_itself(cli: Callable[..., Called], folder: Path) -> None:
    assert gated(cli, folder, "old").code == 2
    assert gated(cli, folder, "nowhere").code == 2


def test_typed_margins_come_before_those_of_the_file() -> None:
    policy = policies.read({"scores": {"bleu": {"margin": 1, "floor": 20}}}, "here").with_margins([("bleu", 0.5)])
    assert policy.scores["bleu"] == policies.Rule(0.5, 20.0)


def test_typed_margins_hold_on_data_sets_that_the_policy_names() -> None:
    policy = policies.read({"datasets": {"dev": {"scores": {"bleu": 5}}}}, "here").with_margins((("bleu", 0.5),))
    assert policy.on("dev").scores["bleu"].margin == 0.5


def test_slices_by_an_expression_that_compares(folder: Path) -> None:
    policy = policies.read({"slices": {"len(references[0]) >= 0=yes": {"token_f1": 90}}}, "here")
    (check,) = gate([folder / "same"], [folder / "old"], policy, ComparisonOptions(resamples=500)).checks
    assert (check.slice, check.verdict) == ("len(references[0]) >= 0=yes", "not worse")
    with pytest.raises(HarnessError, match="names no value; expected FIELD=VALUE"):
        policies.read({"slices": {"len(source) >= 5": {"bleu": 1}}}, "here")


def test_what_would_show_an_improvement_is_of_the_improvement(folder: Path) -> None:
    def asked(improve: Any) -> Any:
        rules = {"scores": {"token_f1": {"improve": improve, "margin": 5}}}
        options = ComparisonOptions(resamples=500)
        (check,) = gate([folder / "good"], [folder / "same"], policies.read(rules, "here"), options).checks
        return check

    gain = asked(True).row.difference
    near, nearer = asked(gain - 0.5), asked(gain - 0.25)
    assert near.verdict == nearer.verdict == "cannot tell"
    assert "margin" not in near.reason
    assert near.margin_passed is None
    assert nearer.needed == pytest.approx(4 * near.needed, rel=0.01)


def test_scores_are_asked_for_in_one_way(folder: Path) -> None:
    options = ComparisonOptions(resamples=500, scores=("token_f1",))
    runs = [folder / "same"], [folder / "old"]
    with pytest.raises(HarnessError, match="score token_f1: margins or a policy say which scores"):
        gate(*runs, policies.read({"scores": {"bleu": 5}}, "here"), options)
    answer = gate(*runs, policies.read({"limits": {"run/failed": 0}}, "here"), options)
    assert [check.what for check in answer.checks] == ["token_f1", "run/failed"]
    with pytest.raises(HarnessError, match="level=0.4; expected more than 0.5"):
        gate(*runs, policies.Policy(), ComparisonOptions(level=0.4))


def test_several_runs_on_a_data_set_are_told_apart(cli: Callable[..., Called], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("scores: {token_f1: {margin: 5, floor: 50}}\nlimits: {run/failed: 0}\n")
    for name in ("good", "bad"):
        shutil.copytree(folder / name, tmp_path / name)
        for file in ("manifest.json", "scores.json"):
            document = json.loads((tmp_path / name / file).read_text())
            (tmp_path / name / file).write_text(json.dumps({**document, "name": name}))
    runs = [str(tmp_path / name) for name in ("good", "bad")]
    asked = ["--baseline", str(folder / "old"), "--policy=gate.yaml", "--junit=out.xml", "--resamples=500"]
    called = cli("gate", *runs, *asked)
    assert called.code == 1
    assert "Worse: Token F1 of dev (bad)." in called.out
    assert "dev (good)" in called.out
    cases = Xml.parse(tmp_path / "out.xml").getroot().iter("testcase")
    assert {case.get("classname") for case in cases} == {"dev (good)", "dev (bad)"}
    checks = json.loads(cli("gate", *runs, *asked, "--json").out)["checks"]
    assert [check["system"] for check in checks if check["row"] is None] == ["good", "bad", "good", "bad"]


def test_limits_alone_do_not_speak_of_tests(cli: Callable[..., Called], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("limits: {run/failed: 0}\n")
    assert "one-sided" not in gated(cli, folder, "same", "--policy=gate.yaml").out


def test_seeds_of_one_system_are_grouped(cli: Callable[..., Called], tmp_path: Path) -> None:
    for place, seeds in (("new", "1,2"), ("old", "3,4")):
        called = cli(
            "run", "--multirun", "dataset=embedded", "system=random", f"system.seed={seeds}", "metrics=[token_f1]",
            "tracking=none", "limit=12", "stats.resamples=200", f"output_dir={place}", "progress=false",
        )  # fmt: skip
        assert called.code == 0, called.err
    new, old = ([str(path) for path in sorted((tmp_path / place).iterdir())] for place in ("new", "old"))
    words = ["gate", *new, "--baseline", *old, "--margin", "token_f1=90", "--resamples=500", "--json"]
    assert cli(*words).code == 2
    (check,) = json.loads(cli(*words, "--group-by", "system.seed").out)["checks"]
    assert (check["verdict"], check["row"]["seeds"]) == ("not worse", [2, 2])


def test_a_policy_that_is_not_there() -> None:
    with pytest.raises(HarnessError, match="expected a policy"):
        policies.load("nowhere.yaml")


def asked(folder: Path, policy: dict[str, Any]) -> list[tuple[str, str | None, str]]:
    answers = gate(
        [folder / "same"], [folder / "old"], policies.read(policy, "gate.yaml"), ComparisonOptions(resamples=500)
    )
    return [(check.asked, check.slice, check.verdict) for check in answers.checks]


def test_a_floor_alone_asks_for_nothing_else(folder: Path) -> None:
    assert asked(folder, {"scores": {"bleu": {"floor": 0.1}}}) == [("at least 0.1", None, "not worse")]


def test_a_slice_may_leave_out_the_only_score(folder: Path) -> None:
    rules = {"scores": {"bleu": 50}, "slices": {"domain=legal": {"margin": 90.0}}}
    assert asked(folder, rules)[1] == ("not worse by 90", "domain=legal", "not worse")
    with pytest.raises(HarnessError, match="names no score; expected SCORE with it"):
        asked(folder, {"scores": {"bleu": 50, "token_f1": 0.5}, "slices": {"domain=legal": {"margin": 90.0}}})


def test_a_data_set_of_the_policy_that_no_run_is_on(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked(folder, {"scores": {"bleu": 50}, "datasets": {"devv": {"scores": {"bleu": 1}}}})
    assert "datasets.devv of the policy: no run is on it (did you mean 'dev'?); runs are on dev" in caplog.text


def test_junit_has_what_its_schema_knows(cli: Callable[..., Called], folder: Path, tmp_path: Path) -> None:
    called = gated(cli, folder, "same", "--margin", "bleu=0.0001", "--junit", str(tmp_path / "gate.xml"))
    assert called.code == 3
    root = Xml.parse(tmp_path / "gate.xml").getroot()
    assert set(root.attrib) <= {"name", "time", "tests", "failures", "disabled", "errors"}
    skipped = root.find("testsuite/testcase/skipped")
    assert skipped is not None
    assert "would tell" in skipped.attrib["message"]


def test_a_baseline_that_mlflow_finds(
    cli: Callable[..., Called], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    store = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    overrides = [
        "dataset=file", f"dataset.path={folder}/dev.jsonl", "system=predictions", f"system.path={folder}/old.jsonl",
        "metrics=[token_f1,bleu]", "progress=false", "stats.resamples=200", f"output_dir={tmp_path}/logged",
    ]  # fmt: skip
    assert cli("run", *overrides).code == 0
    run_id = json.loads((tmp_path / "logged/manifest.json").read_text())["mlflow"]["run_id"]
    MlflowClient(store).set_tag(run_id, "stage", "production")
    for place in ("here", "on another machine"):
        if place != "here":
            shutil.rmtree(tmp_path / "logged")
        for name in ("tags.stage=production", run_id):
            called = cli("gate", str(folder / "same"), "--baseline", name, "--margin", "bleu=60", "--resamples=500")
            assert called.code == 0, called.err
    called = cli("gate", str(folder / "same"), "--baseline", "tags.stage=nowhere")
    assert (called.code, "MLflow has no run of harness for 'tags.stage=nowhere'" in called.err) == (2, True)
