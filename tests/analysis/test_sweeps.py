"""What differs between the configs of a sweep's runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.analysis.stored.parameters import labels, parameters
from harness.analysis.sweeps.sweep_study import expenses_of


def runs(*systems: dict[str, Any]) -> list[Any]:
    return [
        SimpleNamespace(
            system=system.get("name", f"s{i}"),
            manifest={"config": {"system": system, "postprocess": {"strip": False}, "name": f"n{i}", "group": str(i)}},
        )
        for i, system in enumerate(systems)
    ]


def test_only_what_decides_outputs_counts() -> None:
    varied = parameters(
        runs(
            {"_target_": "A", "name": "a", "beams": 4, "few": {"count": 1}},
            {"_target_": "A", "name": "b", "beams": 2, "few": {"count": 1}},
        )
    )
    assert [(parameter.name, parameter.values, parameter.numeric, parameter.levels) for parameter in varied] == [
        ("beams", (4, 2), True, [2, 4])
    ]
    assert parameters(runs({"_target_": "A", "name": "a"}, {"_target_": "A", "name": "b"})) == []


def test_what_always_changes_together_is_one_and_the_number_stands_for_it() -> None:
    varied = parameters(
        runs(
            {"model": "small", "size": 1, "t": 0},
            {"model": "large", "size": 2, "t": 0},
            {"model": "small", "size": 1, "t": 1},
        )
    )
    assert [(parameter.name, parameter.also) for parameter in varied] == [("size", ("model",)), ("t", ())]


def test_systems_of_different_kinds_are_a_parameter() -> None:
    varied = parameters(
        runs(
            {"_target_": "A", "name": "a", "only": 1, "t": 0},
            {"_target_": "B", "name": "b", "t": 1},
            {"_target_": "A", "name": "a", "only": 2, "t": 1},
        )
    )
    assert [(parameter.name, parameter.values) for parameter in varied] == [
        ("system", ("a", "b", "a")),
        ("t", (0, 1, 1)),
    ]


def test_values_that_are_no_numbers_or_texts() -> None:
    varied = parameters(
        runs(
            {"stop": ["a"], "sample": True, "seed": None},
            {"stop": [], "sample": False, "seed": 3},
            {"stop": [], "sample": True, "seed": 3},
        )
    )
    assert [(parameter.name, parameter.values) for parameter in varied] == [
        ("stop", ('["a"]', "[]", "[]")),
        ("sample", ("true", "false", "true")),
    ]


def test_runs_without_a_config_have_none() -> None:
    assert parameters([SimpleNamespace(system="a", manifest={}), SimpleNamespace(system="b", manifest={})]) == []  # type: ignore[list-item]


def test_runs_of_one_system_are_told_apart_by_what_differs_between_them() -> None:
    swept = runs(
        {"_target_": "L", "name": "lead", "sentences": 1},
        {"_target_": "L", "name": "lead", "sentences": 3},
        {"_target_": "C", "name": "copy", "field": "source"},
    )
    assert labels(swept) == ["lead sentences=1", "lead sentences=3", "copy"]
    prompts = [f"Summarise the text in {n} of your own words: {{source}}" for n in ("six", "ten")]
    prompted = runs(*({"_target_": "L", "name": "m", "prompt": prompt} for prompt in (*prompts, None)))
    assert labels(prompted) == [
        "m prompt=Summarise …six of your own words: {sourc…", "m prompt=Summarise …ten of your own words: {sourc…",
        "m prompt=null",
    ]  # fmt: skip


def test_nobody_chooses_by_microseconds() -> None:
    """Unless asked to: what a fast function takes is the machine's noise."""

    def timed(*rates: float) -> list[Any]:
        return [
            SimpleNamespace(name=str(rate), manifest={"generation": {"generated": 9, "outputs_per_second": rate}})
            for rate in rates
        ]

    assert expenses_of(timed(20_000, 50_000), None) == (None, [None, None])
    assert expenses_of(timed(20_000, 50_000), "seconds") == ("seconds", [1 / 20_000, 1 / 50_000])
    assert expenses_of(timed(20_000, 50), None) == ("seconds", [1 / 20_000, 1 / 50])
