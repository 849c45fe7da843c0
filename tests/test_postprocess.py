"""Each step alone, their order, and what happens where the answer cannot be found."""

from __future__ import annotations

from typing import Any

import pytest

from harness.postprocess import Postprocess
from harness.types import HarnessError, Output


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({}, "  As It Is \n", "  As It Is \n"),
        ({"strip": True}, " \n x y\t", "x y"),
        ({"lowercase": True}, "ÀB", "àb"),
        ({"normalize": "NFC"}, "e\u0301", "é"),
        ({"normalize": "NFKC"}, "ﬁ", "fi"),
        ({"reasoning": ["think"]}, "<think>a\nb</think>c<think>d</think>e", "ce"),
        ({"reasoning": ["think"]}, "began in the prompt</think>answer", "answer"),
        ({"reasoning": ["think"]}, "answer<think>cut off", "answer"),
        ({"reasoning": ["think", "scratch"]}, "<scratch>x</scratch>a<think>y</think>", "a"),
        ({"reasoning": "think"}, "<think>a</think>b", "b"),
        ({"extract": r"\d+"}, "from 12 to 34", "12"),
        ({"extract": r"answer: (\w+)", "which": "last"}, "answer: a, answer: b", "b"),
        ({"extract": r"answer: (.*)"}, "answer: 42\nbecause", "42"),
        ({"extract": r"(?s)<a>(.*)</a>"}, "<a>two\nlines</a>", "two\nlines"),
        ({"reasoning": ["think"]}, "<THINK>a</Think>b", "b"),
        ({"extract": "x", "no_match": "keep"}, "abc", "abc"),
        ({"extract": "x", "no_match": "empty"}, "abc", ""),
        ({"reasoning": ["think"], "extract": "(.*)", "lowercase": True, "strip": True}, "<think>N</think> Yes ", "yes"),
    ],
)
def test_steps(options: dict[str, Any], text: str, expected: str) -> None:
    assert Postprocess(**options)(text) == Output(expected)


def test_an_answer_that_is_not_there_is_a_failure() -> None:
    assert Postprocess(extract="answer: (.*)")("none") == Output(None, "postprocess: no match for 'answer: (.*)'")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"extract": "("}, "postprocess.extract='(' is not a regular expression"),
        ({"normalize": "NFX"}, "postprocess.normalize=NFX; expected one of NFC, NFD, NFKC, NFKD"),
        ({"which": "third"}, "postprocess.which=third; expected one of first, last"),
        ({"no_match": "zero"}, "postprocess.no_match=zero; expected one of fail, keep, empty"),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Postprocess(**options)
    assert expected in str(raised.value)
