"""Texts that would rather be something else: nothing runs, nothing is asked for, and the page still works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import write_report
from tests.report.page.conftest import Opened, made, opened

HOSTILE = [
    "<script>window.ran = 1; alert(1)</script>",
    "</script><script>window.ran = 1</script>",
    "<!--<script>",
    "--></style></title></textarea><img src=x onerror='window.ran = 1'>",
    '" onmouseover="window.ran = 1" x=\'',
    "<svg/onload=window.ran=1>",
    "<iframe src=javascript:window.ran=1></iframe>",
    "<a href='javascript:window.ran=1'>x</a>",
    "<base href=http://192.0.2.1/><link rel=stylesheet href=http://192.0.2.1/a.css>",
    "{{ 7 * 7 }} {% raw %} ${7 * 7} %s \\u003cscript\\u003e",
    "line\u2028separator\u2029paragraph",
    "NUL \x00 bell \x07 escape \x1b[31m",
    "right \u202e to left \u2066 isolate \u200f mark",
    "zero\u200bwidth\u2060joiner\ufeff soft\u00adhyphen",
    "مرحبا بالعالم שלום עולם mixed with English 123",
    "a\u0301" * 50 + " Z\u0351\u036f\u0357\u0304" * 20,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f4\U000e0067\U000e007f",
    "'`quotes`\" &amp; &lt;b&gt; \\",
    "__proto__",
    "constructor",
]
LONG = "x" * 1_000_000
LONG_WORDS = "word and another word " * 45_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    n = len(HOSTILE)
    texts = [*HOSTILE, LONG, LONG_WORDS]
    runs = []
    for place, name in enumerate((HOSTILE[0], HOSTILE[12])):
        honest = [f"text {i + place}" for i in range(n + 2)]
        run = made(
            honest,
            [["text 1"]] * (n + 2),
            name,
            metrics=["rouge"],
            failed={2: HOSTILE[3]},
            ids=[*HOSTILE, "long", "longer"],
        )
        frame = run.examples.copy()  # what harness run would refuse (NUL) gets in here
        outputs = texts if place == 0 else [*HOSTILE[::-1], "short", LONG_WORDS[::-1]]
        frame["output"] = [None if i == 2 else text for i, text in enumerate(outputs)]
        frame["source"] = [*HOSTILE, "s", None]
        frame["references"] = [[text, "an honest reference"] for text in [*HOSTILE, "x y z", LONG_WORDS[:500_000]]]
        frame[HOSTILE[3]] = [HOSTILE[i % 4] for i in range(len(frame))]
        frame["field"] = [HOSTILE[1], *frame["id"][1:]]
        config = {
            "system": {"prompt": HOSTILE[place], HOSTILE[4]: "\udfff" + HOSTILE[2], "api_key": "PLANTED"},
            "uri": "http://user:PLANTED@192.0.2.1/",
        }
        manifest = {"name": name, "ended": "2026-01-02T03:04:05", "harness": "0.1.0", "config": config, "git": None}
        runs.append(replace(run.with_examples(frame), manifest=manifest, system=HOSTILE[place], dataset=HOSTILE[1], dataset_key="hostile",
                            health={"warnings": [HOSTILE[5], "half of a character \ud800"]}))  # fmt: skip
    return write_report(runs, tmp_path_factory.mktemp("hostile") / "report.html", title=HOSTILE[0], resamples=100)


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Opened]:
    report = opened(browser, path)
    yield report
    assert report.page.evaluate("window.ran") is None
    report.check()
    report.page.context.close()


def test_the_file_holds_hostile_text_only_as_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "<img" not in text and "<iframe" not in text and "onerror='" not in text
    assert text.count("<script") == text.count("</script>") == text.count("<script type=") + 1
    assert "PLANTED" not in text
    head = text[: text.index("<title>")]
    assert "default-src 'none'" in head and "unsafe" not in head


def test_every_text_is_shown_as_it_is_and_nothing_runs(page: Opened) -> None:
    assert page.text("h1") == HOSTILE[0]
    page.page.select_option("#sort", "data")
    for _ in range(len(HOSTILE)):
        page.page.keyboard.press("j")
        assert page.page.locator(".card").count() == 2
    for view in "12345":
        page.page.keyboard.press(view)
        page.page.keyboard.press("k")
    for summary in page.page.locator(".manifest summary").all():
        summary.click()
    assert HOSTILE[0] in page.text("#configs")
    for tab in page.page.locator("#tabs button").all():
        tab.click()
        page.page.locator("figure:visible svg.marks").first.wait_for()


def go_to(page: Opened, place: int) -> None:
    """An example by its place in the data, its texts without marks."""
    page.page.select_option("#sort", "data")
    page.page.locator("#list").focus()
    page.page.keyboard.press("Home")
    for _ in range(place):
        page.page.keyboard.press("j")
    page.page.keyboard.press("5")


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1, 3, 4, 9, 15, 18])
def test_what_is_shown_is_what_was_written(page: Opened, place: int) -> None:
    go_to(page, place)
    assert page.page.locator("#detail .source .text").evaluate("node => node.textContent") == HOSTILE[place]
    card = page.page.locator(".card").filter(has=page.page.locator("bdi.system", has_text="window.ran = 1; alert(1)"))
    assert card.locator(".text").evaluate("node => node.textContent") == HOSTILE[place]


def test_unseen_characters_are_seen_and_directions_stay_apart(page: Opened) -> None:
    go_to(page, 12)
    marks = page.page.locator("#detail .source .unseen").all_inner_texts()
    assert marks == ["RLO", "LRI", "RLM"]
    assert (
        page.page.locator("#detail .source .text").evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    )
    go_to(page, 13)
    assert page.page.locator("#detail .source .unseen").all_inner_texts() == ["ZWSP", "WJ", "BOM", "SHY"]
    go_to(page, 11)
    assert page.page.locator("#detail .source .unseen").all_inner_texts() == ["0000", "0007", "001B"]


def test_a_megabyte_is_cut_and_can_be_seen_whole(page: Opened) -> None:
    for name in ("long", "longer"):
        page.page.fill("#q", name)
        page.page.locator(".item").filter(has=page.page.get_by_text(name, exact=True)).first.click()
        for view in "12345":
            page.page.keyboard.press(view)
            assert page.page.evaluate("document.querySelector('#detail').textContent.length") < 60_000
    page.page.get_by_role("button", name="show all 990,000 characters").first.click()
    assert page.page.evaluate("document.querySelector('#detail').textContent.length") > 990_000
    page.page.keyboard.press("1")


def test_hostile_links_lead_nowhere(browser: Any, path: Path) -> None:
    addresses = ["#example=%00&sort=__proto__&score=constructor&a=x&only=x&mark=y", "#<img src=x onerror=window.ran=1>"]
    for address in addresses:
        report = opened(browser, path, address)
        assert report.page.locator(".item").count() > 0
        assert report.page.evaluate("window.ran") is None
        report.check()
        report.page.context.close()
