"""Conditions on runs: each as a person types it, and what is said where it cannot be meant."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import harness
from harness.types import HarnessError
from tests.made_up import write_run

NOW = datetime.now(timezone.utc)


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: `a` of today with one failure, `b` of ten days ago without ROUGE, `c` of 2026-03-01 on other data."""
    runs = tmp_path_factory.mktemp("runs")
    today, earlier = (NOW - timedelta(minutes=5)).isoformat(), (NOW - timedelta(days=10)).isoformat()
    write_run(runs / "harness" / "a-1", "a", failed=1, ended=today, config={"system": {"model": "gpt2"}})
    write_run(
        runs / "harness" / "b-2", "b", scores={"bleu": (12.5, 11.0, 14.0)}, ended=earlier,
        config={"system": {"model": "a,b"}, "limit": 10, "stats": {"seed": 2, "strata": "domain"}},
    )  # fmt: skip
    write_run(
        runs / "other" / "c-3", "c", scores={"bleu": (40.0, 38.0, 42.0), "rouge1": (None, None, None)}, dataset="test",
        ended="2026-03-01T10:00:00+00:00", config={"system": {}, "tracking": {"experiment": "other"}},
    )  # fmt: skip
    return runs


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ([], "abc"),
        (["dataset=dev"], "ab"),
        (["dataset!=dev"], "c"),
        (["system=a,c"], "ac"),
        (["name~^[bc]"], "bc"),
        (["name!~^[bc]"], "a"),
        (["experiment=other"], "c"),
        (["bleu>30"], "c"),
        (["bleu>=30"], "ac"),
        (["bleu<30"], "b"),
        (["bleu=12.50"], "b"),
        (["interval/bleu.low>11", "interval/bleu.high<=32"], "a"),
        (["rouge1>0"], "a"),  # one that has no value, and one without the score, are not above 0
        (["rouge1<1"], "a"),
        (["rouge1=null"], "c"),
        (["bleu.p1>50"], "a"),
        (["failed>0"], "a"),
        (["examples=100", "failed=0"], "bc"),
        (["since=2d"], "a"),
        (["since=2w"], "ab"),
        (["before=2d", "since=2026-03-02"], "b"),
        (["ended<2026-03-02"], "c"),
        (["stats.seed=2"], "b"),
        (["stats.seed!=2"], "ac"),
        (["stats.strata=null"], "ac"),
        (["limit=10"], "b"),
        (["limit>5"], "b"),
        (["system.model=gpt2"], "a"),
        (["system.model=a,b"], "b"),  # the whole of it, comma and all
        (["system.model!=gpt2"], "bc"),  # one that has no model has another one
        (["commit~^abc"], "abc"),
        (["folder~harness/"], "ab"),
        (["other/"], "c"),
        (["/c-3"], "c"),
        (["dataset=dev", "bleu>20"], "a"),
        (["name=nobody"], ""),
    ],
)
def test_conditions(below: Path, where: list[str], expected: str) -> None:
    assert sorted(run.name for run in harness.runs(where, below=below)) == list(expected)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("blue>30", "blue>30: no run has blue (did you mean 'bleu'?); expected one of name, dataset,"),
        ("stats.sed=1", "no run has stats.sed (did you mean 'stats.seed'?)"),
        ("stats=1", "stats=1: no run has stats"),
        ("bleu>high", "bleu>high: bleu is a number; expected one after >"),
        ("name>3", "name>3: name is a text; expected name=… or name~…"),
        ("name~(", "name~( is not a regular expression: missing )"),
        ("since=soon", "since=soon: 'soon' is not a time; expected an age (2m, 2h, 2d, 2w) or a date"),
        ("since=99999999w", "since=99999999w: 99999999w ago is before the year 1; expected a shorter age"),
        (f"before={'9' * 400}d", "ago is before the year 1"),
        ("ended>0001-01-01T00:00+05:00", "'0001-01-01T00:00+05:00' is not a time; expected an age"),
        ("since>2d", "since>2d: expected since=2d"),
        ("bleu", "bleu is a field; expected a condition, quoted for the shell, as in 'bleu>30'"),
        ("=3", "'=3' is not a condition; expected for instance dataset=wmt22"),
        ("", "'' is not a condition"),
    ],
)
def test_what_cannot_be_meant(below: Path, where: str, said: str) -> None:
    with pytest.raises(HarnessError) as error:
        harness.runs(where, below=below)
    assert str(error.value).startswith(said) or said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        (None, "abc"),  # the newest first
        ("bleu", "bac"),
        ("-bleu", "cab"),
        ("rouge1", "abc"),  # those that lack it come last, both ways
        ("-rouge1", "abc"),
        ("ended", "cba"),
        ("-name", "cba"),
        ("stats.seed", "acb"),
    ],
)
def test_sorting(below: Path, sort: str | None, expected: str) -> None:
    assert "".join(run.name for run in harness.runs(sort=sort, below=below)) == expected


def test_sorting_by_what_is_not_there(below: Path) -> None:
    with pytest.raises(HarnessError, match="no run has blue"):
        harness.runs(sort="-blue", below=below)
    with pytest.raises(HarnessError, match="limit=0; expected at least 1"):
        harness.runs(limit=0, below=below)


@pytest.mark.parametrize("by", ["since", "-since", "before"])
def test_what_is_a_condition_only_is_nothing_to_sort_by(below: Path, by: str) -> None:
    name = by.removeprefix("-")
    said = f"{name} is a condition ({name}=2d), not something to sort by; expected ended or another field"
    with pytest.raises(HarnessError, match=f"^{re.escape(said)}$"):
        harness.runs(sort=by, below=below)
    with pytest.raises(HarnessError, match="no run has sinc") as refused:
        harness.runs(sort="sinc", below=below)
    assert "since" not in str(refused.value) and "before" not in str(refused.value)
    with pytest.raises(HarnessError, match="did you mean 'since'"):
        harness.runs("sinc=2d", below=below)
