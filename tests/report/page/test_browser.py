"""The page as a person uses it, in Chromium: pointer, keyboard, links, dark, small."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import write_report
from harness.types import Alignment, Batch, Metric
from tests.report.page.conftest import Opened, made, opened, sentence, three_runs, two_retrievers, worsened


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return write_report(three_runs(), folder / "report.html", baseline="bad", by=["domain"], resamples=200)


@pytest.fixture
def page(browser: Any, path: Path) -> Iterator[Opened]:
    report = opened(browser, path)
    yield report
    report.check()
    report.page.context.close()


def test_the_answer_stands_at_the_top(page: Opened) -> None:
    assert page.text("h1") == "good, fair and bad on dev"
    assert "good is best on BLEU" in page.text(".verdicts")
    row = page.page.locator(".scores tbody:first-of-type tr", has_text="good")
    assert row.locator(".estimate.best").count() == 5
    assert "better than the baseline" in row.locator("td").first.inner_text()
    assert "fair: 2 of 60 examples failed" in page.text(".warnings")


def test_differences_from_the_baseline_have_intervals_and_p(page: Opened) -> None:
    part = page.page.locator(".scores tbody.differences")
    assert part.locator(".part").inner_text().startswith("Difference from bad")
    names = part.locator("tr:not(.part) th").all_inner_texts()
    assert names == ["good", "fair"]
    cell = part.locator("td").first.inner_text()
    assert re.match(r"\+\d+\.\d\d", cell) and "better than bad" in cell and re.search(r"p = 0\.\d+$", cell), cell
    assert page.page.locator(".scores tbody:first-of-type .letters").first.inner_text() == "a"
    said = page.text(".paper blockquote")
    assert "examples), bad reaches BLEU " in said and "good +" in said and "p = 0.0" in said


def until(page: Any, expression: str) -> None:
    """Waits until it is true. Playwright's own wait evaluates text inside the page, which its policy forbids."""
    for _ in range(300):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not true within 30 s: {expression}")


def test_the_first_paint_has_an_example(browser: Any, path: Path) -> None:
    """What is seen in its place first is an example: those of a small report are read by the script that stands behind
    them. A browser with much to do may paint before the end of the page, when the place is empty."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(
        "requestAnimationFrame(function look() {"
        " const pane = document.getElementById('detail');"
        " if (pane) window.first ||= pane.textContent;"
        " if (!window.first) requestAnimationFrame(look); })"
    )
    page.goto(path.resolve().as_uri())
    until(page, "window.first")
    first = page.evaluate("window.first")
    assert "Reading" not in first and "example-" in first
    context.close()


def test_a_click_on_a_head_sorts_the_scores(page: Opened) -> None:
    names = page.page.locator(".scores tbody:first-of-type th bdi")
    head = page.page.locator(".scores thead button", has_text="ROUGE-2").first
    head.click()
    assert names.all_inner_texts() == ["good", "fair", "bad"]
    head.click()
    assert names.all_inner_texts() == ["bad", "fair", "good"]
    assert page.page.locator("th[aria-sort=ascending]").inner_text().startswith("ROUGE-2")
    assert page.page.locator(".scores .more").first.is_hidden()
    page.page.locator(".show-more").check()
    assert page.page.locator(".scores .more").first.is_visible()


def test_every_chart_is_drawn_when_it_comes_into_view(page: Opened) -> None:
    tabs = page.page.locator("#tabs button")
    assert tabs.all_inner_texts()[:3] == ["Scores", "Differences from bad", "Pairwise verdicts"]
    assert "Scores by domain" in tabs.all_inner_texts()
    assert page.page.locator("[data-drawn]").count() <= 1
    tabs.first.focus()
    for i in range(tabs.count()):
        page.page.locator(f"#figure-{i} .panel svg.marks").first.wait_for()
        assert page.page.locator("figure:visible").count() == 1
        page.page.keyboard.press("ArrowRight")
    assert tabs.first.get_attribute("aria-selected") == "true"
    page.page.locator("#theme").click()  # light
    page.page.locator("#theme").click()  # dark
    page.page.locator("#figure-0").scroll_into_view_if_needed()
    page.page.locator(".chart[data-drawn=dark]").first.wait_for()
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")  # paper is white
    page.page.locator(".chart[data-drawn=light]").first.wait_for()
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")


def test_paper_has_every_figure_though_none_was_looked_at(page: Opened) -> None:
    until(page.page, "'vegaEmbed' in globalThis")
    page.page.emulate_media(media="print")
    figures = page.page.locator("figure").count()
    page.page.evaluate("dispatchEvent(new Event('beforeprint'))")  # what follows is what paper waits for: no timer ran
    assert page.page.locator(".chart[data-drawn=light]:visible").count() == figures > 4
    page.page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.page.emulate_media(media="screen")
    assert page.page.locator("figure:visible").count() == 1


def test_wins_come_first_and_losses_too(page: Opened) -> None:
    report = page.page.locator(".item .difference")
    values = [float(text.replace("\u2212", "-")) for text in report.all_inner_texts()]
    assert values == sorted(values, reverse=True) and values[0] > 0
    page.page.select_option("#sort", "losses")
    values = [float(text.replace("\u2212", "-")) for text in report.all_inner_texts()]
    assert values == sorted(values)
    page.page.select_option("#sort", "output 2")
    page.page.locator("#turn").click()
    lengths = [int(text) for text in page.page.locator(".item .value").all_inner_texts()]
    assert lengths == sorted(lengths)
    page.page.select_option("#sort", "data")
    assert page.ids()[:3] == ["example-0", "example-1", "example-2"]  # what turned the lengths turns nothing else
    page.page.locator("#turn").click()
    assert page.ids()[-3:] == ["example-2", "example-1", "example-0"]  # the one looked at stays in view


def test_search_filters_by_text_whatever_its_case(page: Opened) -> None:
    page.page.fill("#q", "sOURCE 17:")
    assert page.ids() == ["example-17"]
    assert page.text("#count") == "1 of 60"
    assert page.text(".item mark") == "Source 17:"
    assert page.page.evaluate("CSS.highlights.get('hit').size") == 1
    assert page.text("#detail h3") == "example-17"
    page.page.fill("#q", "there is no such text")
    assert "No example fits." in page.text("#rows")
    page.page.fill("#q", "")
    assert page.text("#count") == "60 shown"


def test_filters_by_field_failure_length_and_range(page: Opened) -> None:
    def only(field: str, value: str) -> None:
        page.page.select_option("#field", field)
        page.page.select_option("#value", value)

    only("field domain", "law")
    assert page.text("#count") == "20 of 60"
    only("field domain", "news")  # of one field: either
    assert page.text("#count") == "40 of 60"
    only("failed", "yes")  # of two: both
    assert page.ids() == ["example-3"]
    assert "failed" in page.text("#row-0")
    for chip in page.page.locator(".chip").all()[::-1]:
        chip.click()
    only("outcome", "b")
    assert all("\u2212" in text for text in page.page.locator(".item .difference").all_inner_texts())
    page.page.locator(".chip").click()
    only("source", "1")
    assert 10 <= int(page.text("#count").split()[0]) <= 20
    page.page.locator(".chip").click()
    page.page.select_option("#sort", "score 0")
    page.page.fill("#from", "0.1")
    few = int(page.text("#count").split()[0])
    page.page.fill("#from", "40")
    assert 0 < int(page.text("#count").split()[0]) < few


@pytest.fixture(scope="module")
def up_and_down(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine examples: of the first x has every word, of the last y, between them both have some."""
    words = [f"word{i}" for i in range(9)]
    parts = [" ".join(words[: 9 - i]) for i in range(9)]
    runs = [
        made(outputs, [[" ".join(words)]] * 9, name, metrics=["rouge", "ter"])
        for name, outputs in (("x", parts), ("y", parts[::-1]))
    ]
    return write_report(runs, tmp_path_factory.mktemp("signs") / "report.html", resamples=50)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["wins", "losses", "gap"])
@pytest.mark.parametrize("score", ["rouge1", "ter"])  # of ter less is better
def test_bounds_are_of_the_values_that_rows_show(browser: Any, up_and_down: Path, score: str, order: str) -> None:
    report = opened(browser, up_and_down, "#a=x&b=y")
    page = report.page
    page.select_option("#score", score)
    page.select_option("#sort", order)

    def shown() -> list[float]:
        return [float(text.replace("\u2212", "-")) for text in page.locator(".item .difference").all_inner_texts()]

    every = shown()
    assert len(every) == 9 and min(every) < 0 < max(every)
    falling = (order == "wins") == (score == "rouge1")
    assert every == sorted(every, key=abs if order == "gap" else None, reverse=falling or order == "gap")
    for turned in (False, True):
        ends = [page.locator(f"#{end}").get_attribute("placeholder").replace("\u2212", "-") for end in ("from", "to")]
        assert [float(end) for end in ends] == [min(every), max(every)], turned
        page.locator("#turn").click()
    for value in every[::3]:  # as it is read, so what was rounded up is kept too
        for end, keep in (("from", value.__le__), ("to", value.__ge__)):
            page.fill(f"#{end}", str(value).replace("-", "\u2212"))
            assert shown() == [kept for kept in every if keep(kept)], (end, value)
            page.fill(f"#{end}", "")
    report.check()
    page.context.close()


def test_the_keyboard_is_enough(page: Opened) -> None:
    press = page.page.keyboard.press
    press("/")
    page.page.keyboard.type("source 4")
    assert page.text("#count") == "11 of 60"
    press("Escape")
    first = page.text("#detail h3")
    press("ArrowDown")
    assert page.text("#detail h3") != first
    press("k")
    assert page.text("#detail h3") == first
    assert page.page.locator("#list").get_attribute("aria-activedescendant") == "row-0"
    press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "detail"
    press("Escape")
    assert page.page.evaluate("document.activeElement.id") == "list"
    press("End")
    assert page.page.locator("#list").get_attribute("aria-activedescendant") == "row-10"
    press("?")
    assert page.page.locator("#help").is_visible()
    press("Escape")
    assert page.page.locator("#help").is_hidden()
    press("2")
    assert page.page.locator(".marking [aria-pressed=true]").inner_text() == "vs reference"
    press("l")
    assert page.page.locator("#sort").input_value() == "losses"


def shared(a: list[str], b: list[str]) -> int:
    """How many words the longest common subsequence has."""
    row = [0] * (len(b) + 1)
    for word in a:
        before = row
        row = [0]
        for j, other in enumerate(b):
            row.append(before[j] + 1 if word == other else max(row[j], before[j + 1]))
    return row[-1]


def test_outputs_side_by_side_with_their_words_marked(page: Opened) -> None:
    page.page.fill("#q", "source 5:")
    page.page.locator(".item").first.click()
    cards = page.page.locator(".card")
    assert cards.count() == 3
    assert cards.locator(".letter").all_inner_texts() == ["A", "B"]
    output = cards.first.locator(".text").inner_text()
    assert cards.first.locator(".m.n1, .m.n2, .m.n3, .m.n4").count() > 0
    page.page.get_by_role("button", name="vs reference").click()
    reference = page.page.locator(".reference.used .text").inner_text()
    without = """(card, tag) => { const text = card.querySelector(".text").cloneNode(true);
      for (const one of text.querySelectorAll(tag)) one.remove(); return text.textContent; }"""
    assert cards.first.evaluate(without, "del") == output
    common = cards.first.evaluate(without, "del, ins").split()
    assert cards.first.evaluate(without, "ins").split() == reference.split()
    assert 0 < len(common) == shared(output.split(), reference.split()) < len(output.split())  # no word more is marked
    page.page.get_by_role("button", name="A vs B").click()
    assert cards.first.locator(".unlike").count() > 0
    page.page.get_by_role("button", name="plain").click()
    assert cards.locator(".m").count() == 0


def test_a_failure_shows_its_error(page: Opened) -> None:
    page.page.fill("#q", "source 11:")
    page.page.locator(".item").first.click()
    card = page.page.locator(".card", has_text="fair")
    assert "the server said no" in card.inner_text()
    assert card.locator(".scores-of").count() == 0


def test_a_link_leads_to_the_same_example_order_and_filter(page: Opened, browser: Any, path: Path) -> None:
    page.page.select_option("#score", "rouge2")
    page.page.select_option("#a", "1")
    page.page.select_option("#sort", "losses")
    page.page.select_option("#field", "field domain")
    page.page.select_option("#value", "chat")
    page.page.keyboard.press("3")
    page.page.locator(".item").nth(4).click()
    page.page.keyboard.press("3")
    address = page.page.evaluate("location.hash")
    again = opened(browser, path, address)
    try:
        for selector in ("#count", "#detail h3", "#chips", ".marking [aria-pressed=true]", ".item[aria-selected=true]"):
            assert again.text(selector) == page.text(selector)
        for choice in ("#score", "#a", "#b", "#sort"):
            assert again.page.locator(choice).input_value() == page.page.locator(choice).input_value()
        assert again.ids() == page.ids()
        again.check()
    finally:
        again.page.context.close()


def test_dark_by_the_system_or_by_choice(page: Opened, browser: Any, path: Path) -> None:
    shade = "() => getComputedStyle(document.body).backgroundColor"
    assert page.page.evaluate(shade) == "rgb(255, 255, 255)"
    page.page.emulate_media(color_scheme="dark")
    dark = page.page.evaluate(shade)
    assert dark != "rgb(255, 255, 255)"
    page.page.emulate_media(color_scheme="light")
    page.page.locator("#theme").click()
    page.page.locator("#theme").click()
    assert page.page.evaluate(shade) == dark


def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Any, path: Path) -> None:
    small = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
    phone = opened(browser, path, **small)
    width = "document.documentElement.scrollWidth"
    assert phone.page.evaluate(width) == 390
    for tab in phone.page.locator("#tabs button").all():
        tab.tap()
        phone.page.locator("figure:visible svg.marks").first.wait_for()
        assert phone.page.evaluate(width) == 390
    assert phone.page.locator("#detail").is_hidden()
    phone.page.locator("#more").click()
    assert phone.page.locator("#sort").is_visible()
    phone.page.locator(".item").first.tap()
    assert phone.page.locator("#detail").is_visible()
    assert phone.page.evaluate(width) == 390
    phone.page.locator(".back").click()
    phone.page.locator("#detail").wait_for(state="hidden")
    phone.page.locator(".item").nth(2).tap()
    phone.page.go_back()  # the browser's own way back
    phone.page.locator("#detail").wait_for(state="hidden")
    phone.check()
    phone.page.context.close()


def drawn_labels(page: Any, tab: str, texts: str) -> list[dict[str, float]]:
    """Where the labels of the first panel of a tab stand."""
    page.get_by_role("tab", name=tab, exact=True).click()
    page.locator("figure:visible .chart[data-drawn] svg.marks").first.wait_for()
    panel = page.locator("figure:visible .panel", has=page.locator("svg.marks")).first
    return [text.bounding_box() for text in panel.locator(".role-axis-label text", has_text=re.compile(texts)).all()]


def test_long_labels_leave_a_phone_room_and_do_not_cover_each_other(browser: Any, tmp_path: Path) -> None:
    chance = random.Random(3)
    texts = [sentence(chance, 100 + i) for i in range(40)]
    domains = ["news", "legal letters", "medical leaflets", "chat of customers"]
    metrics = ("bleu", "chrf", "ter", "rouge")
    shares = {"a-system-with-a-long-name-at-checkpoint-000100": 0.2, "another-system-with-quite-a-name-at-000200": 0.6}
    runs = [
        made([worsened(text, share, chance) for text in texts], [[text] for text in texts], name, None,
             {"domain": domains * 10}, metrics=metrics)
        for name, share in shares.items()
    ]  # fmt: skip
    path = write_report(runs, tmp_path / "report.html", resamples=100)
    phone = opened(browser, path, viewport={"width": 390, "height": 844})
    labels = drawn_labels(phone.page, "Scores", "^a")
    assert len(labels) == 2 and max(box["width"] for box in labels) < 390 / 2
    slanted = drawn_labels(phone.page, "Scores by domain", "n=10")
    assert len(slanted) == 4 and all(box["height"] > 30 for box in slanted)
    wide = opened(browser, path)
    upright = drawn_labels(wide.page, "Scores by output length", "\\d–\\d")
    assert len(upright) > 3 and all(box["height"] < 16 for box in upright)
    for page in (phone, wide):
        page.check()
        page.page.context.close()


def test_contrast_of_text_is_enough(page: Opened) -> None:
    """At least 4.5 to 1 (WCAG AA) for ink, quiet text, links and marks, light and dark."""
    ratio = """(names) => {
      const node = document.createElement("span"); document.body.append(node);
      const light = (value) => { node.style.color = value;
        const [r, g, b] = getComputedStyle(node).color.match(/[\\d.]+/g).map((x) => x / 255)
          .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const found = names.map(([front, back]) => { const a = light(`var(--${front})`), b = light(`var(--${back})`);
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), front, back]; });
      node.remove(); return found; }"""
    fronts = ("ink", "quiet", "accent", "a", "b", "better", "worse", "bad")
    pairs = [[front, back] for front in fronts for back in ("paper", "raised")]
    pairs += [
        ["ink", back] for back in ("mark-1", "mark-2", "mark-3", "mark-4", "new", "chosen", "pressed", "warn-soft")
    ]
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        assert [contrast for contrast in page.page.evaluate(ratio, pairs) if contrast[0] < 4.5] == []


@pytest.mark.slow
def test_several_outputs_an_example_and_two_data_sets(browser: Any, tmp_path: Path) -> None:
    texts = [f"text {i} {j}" for i in range(6) for j in range(2)]
    references = [[f"text {i} 0"] for i in range(6) for _ in range(2)]
    runs = [
        made([text + more for text in texts], references, f"dev-{name}", repeats=2)
        for name, more in (("x", ""), ("y", " more"))
    ]
    other = [replace(run, name=f"test-{run.name[-1]}", dataset="test", dataset_key="test") for run in runs]
    made_page = write_report([*runs, *other], tmp_path / "two.html", resamples=100)
    report = opened(browser, made_page)
    report.page.select_option("#dataset", "1")
    report.page.select_option("#sort", "data")  # at once, while the data is still read
    report.ready()
    assert report.page.locator(".item .id").first.inner_text() == "example-0 · 1"
    report.page.locator(".item").first.click()
    report.page.locator(".facts button", has_text="2").click()
    assert report.page.locator(".item[aria-selected=true] .id").inner_text() == "example-0 · 2"
    assert (
        "text 0 1" in report.page.locator(".card").first.inner_text() + report.page.locator(".card").last.inner_text()
    )
    assert "test" in report.page.evaluate("location.hash") and "repeat=1" in report.page.evaluate("location.hash")
    report.check()
    report.page.context.close()


@pytest.mark.slow
def test_one_run_without_sources_and_references(browser: Any, tmp_path: Path) -> None:
    run = made([f"text {i}" for i in range(12)], [["text"]] * 12, "alone")
    frame = run.examples.assign(references=[[]] * 12, source=None, **{"a=b%": ["x=y", "z"] * 6})
    path = write_report([run.with_examples(frame)], tmp_path / "one.html", resamples=50)
    report = opened(browser, path)
    assert report.page.locator("#a").is_hidden()
    for view in "12345":
        report.page.keyboard.press(view)
        assert report.page.locator(".card .text").inner_text().startswith("text ")
    report.page.select_option("#field", "field a=b%")
    report.page.select_option("#value", "x=y")
    assert report.text("#count") == "6 of 12"
    again = opened(browser, path, report.page.evaluate("location.hash"))
    assert again.text("#count") == "6 of 12"
    for tab in (report, again):
        tab.check()
        tab.page.context.close()


class Words(Metric):
    """A metric that aligns, without a model: words are similar where they are the same."""

    name, columns, score_names, averaged = "words", ("share", "count"), ("words",), True
    title, aligns = "Same words", True

    def statistics(self, batch: Batch) -> Any:
        pairs = zip(batch.outputs, batch.references, strict=True)
        return np.array([[len({*a.split()} & {*b[0].split()}), 1.0] for a, b in pairs])

    def score(self, sums: Any) -> Any:
        return sums[..., :1] / sums[..., 1:]

    def align(self, outputs: Any, references: Any) -> Any:
        return [self._aligned(output, texts[0]) for output, texts in zip(outputs, references, strict=True)]

    def _aligned(self, output: str, reference: str) -> Alignment:
        def half(text: str, other: str) -> tuple[Any, ...]:
            words, others = text.split(), other.split()
            spans = tuple((span.start(), span.end()) for span in re.finditer(r"\S+", text))
            similar = tuple(1.0 if word in others else 0.25 for word in words)
            matches = tuple(others.index(word) if word in others else 0 for word in words)
            return tuple(words), spans, matches, similar, tuple(1 / len(words) for _ in words)

        return Alignment(0, *half(output, reference), *half(reference, output))


def test_a_click_on_a_word_shows_what_it_was_matched_with(browser: Any, tmp_path: Path) -> None:
    references = [[f"a tale of {i} small cats"] for i in range(30)]
    runs = []
    for name, words in (("x", "\U0001f408 {} cats tell a tale"), ("y", "{} dogs")):
        outputs = [words.format(i if i % 2 else "no") for i in range(30)]
        runs.append(made(outputs, references, name, metrics=["bleu", Words()]))
    report = opened(
        browser, write_report(runs, tmp_path / "aligned.html", alignments=3, resamples=50), "#mark=alignment"
    )
    assert report.page.locator(".alignment").count() == 2
    assert report.text(".legend").startswith("Same words: each token by the cosine")
    card = report.page.locator(".card", has=report.page.get_by_text("x", exact=True))
    card.locator("[data-side=output] [data-place]", has_text="cats").click()
    assert card.locator("[data-side=matched] .match").inner_text() == "cats"
    assert "cats \u2192 cats, cosine 1.00" in card.inner_text()
    card.locator("[data-side=matched] [data-place]", has_text="small").focus()
    report.page.keyboard.press("Enter")
    assert card.locator("[data-side=output] .match").inner_text() == "\U0001f408"
    assert "cosine 0.25" in card.inner_text()
    report.page.select_option("#sort", "data")
    report.page.fill("#q", "example-15")  # 3 wins and losses by two scores: of the thirty the first and the last ones
    assert report.text("#detail h3") == "example-15"
    assert "this example is not among them" in report.text("#detail")
    assert report.page.locator(".alignment").count() == 0
    report.page.fill("#q", "example-29")
    assert report.text("#detail h3") == "example-29"
    assert "this example is not among them" not in report.text("#detail")
    assert report.page.locator(".alignment").count() == 2
    report.check()
    report.page.context.close()


class Moves(Words):
    """Half of each word's weight goes to the first word of the reference, half to the last."""

    name, columns, score_names, title = "moves", ("moved", "count"), ("moves",), "Moved words"

    def fit_outputs(self, outputs: Any) -> Metric:
        self.outputs_of_the_run = len(outputs)
        return self

    def _aligned(self, output: str, reference: str) -> Alignment:
        greedy, n = super()._aligned(output, reference), len(output.split())
        assert self.outputs_of_the_run == 30
        last = len(reference.split()) - 1
        moves = [(i, j, 0.5 / n, 0.5 + 0.25 * (j == 0)) for i in range(n) for j in (0, last)]
        weights = tuple(0.5 if j in (0, last) else 0.0 for j in range(last + 1))
        return replace(greedy, reference_weights=weights, moves=tuple(moves))


def test_weight_that_is_moved_is_drawn_from_several_words_to_one(browser: Any, tmp_path: Path) -> None:
    references = [[f"a tale of {i} small cats"] for i in range(30)]
    runs = [
        made([words.format(i) for i in range(30)], references, name, metrics=["bleu", Words(), Moves()])
        for name, words in (("x", "{} cats tell a tale"), ("y", "{} dogs"))
    ]
    report = opened(browser, write_report(runs, tmp_path / "moved.html", alignments=2, resamples=50), "#mark=alignment")
    assert report.page.locator(".moves").count() == 0  # the first metric has one match for each word
    report.page.locator(".legend button", has_text="Moved words").click()
    assert "several may go to one" in report.text(".legend")
    assert "matched=Moved+words" in report.page.url
    card = report.page.locator(".card", has=report.page.get_by_text("x", exact=True))
    lines = card.locator(".moves path")
    assert lines.count() == 10
    until(report.page, "[...document.querySelectorAll('.moves path')].every((line) => line.hasAttribute('d'))")
    assert card.locator("[data-side=matched] [data-place]").all_inner_texts() == ["a", "cats"]  # that have any weight
    card.locator("[data-side=matched] [data-place]", has_text="cats").click()
    assert card.locator(".moves path.on").count() == 5
    assert card.locator("[data-side=output] .match").count() == 5
    card.locator("[data-side=output] [data-place]", has_text="tell").click()
    assert card.locator("[data-side=matched] .match").all_inner_texts() == ["a", "cats"]
    assert (
        "tell \u2192 a, 10.0\u202f% of the weight, cosine 0.75; cats, 10.0\u202f% of the weight, cosine 0.50"
        in card.inner_text()
    )
    report.page.reload()
    report.page.wait_for_selector("#explorer[aria-busy=false]")
    assert report.page.locator(".moves").count() == 2
    report.check()
    report.page.context.close()


def test_contexts_stand_below_each_output_and_colour_its_words(browser: Any, tmp_path: Path) -> None:
    path = write_report(two_retrievers(), tmp_path / "rag.html", resamples=50)
    report = opened(browser, path, "#example=1&mark=contexts")
    card = report.page.locator(".card").first
    assert card.locator(".contexts .about").all_inner_texts() == ["1 fares 1.40 not relevant", "2 ferry 3.20 relevant"]
    spans = card.locator(".text").first.locator("span.m")
    shown = [(span.inner_text(), span.get_attribute("title")) for span in spans.all()]
    assert shown == [
        ("The crossing takes twenty", "context 2"), ("five minutes", "context 2"), ("tickets", "context 1"),
        ("six pounds", "context 1"),
    ]  # fmt: skip
    number = card.locator(".contexts .number-of").nth(1)
    colour = "element => getComputedStyle(element).backgroundColor"
    assert number.evaluate(colour) == spans.first.evaluate(colour) != spans.last.evaluate(colour)
    assert "of the one that shares most words" in report.text(".toolbar .legend")
    report.page.keyboard.press("k")  # the bigger win
    assert report.text(".card:nth-of-type(2) .contexts") == "No contexts"
    assert report.page.locator(".facts dt").count() == 0  # contexts and judgements are no metadata
    report.page.locator(".marking button", has_text="plain").click()
    assert report.page.locator(".card .m.c1").count() == 0
    report.check()
    report.page.context.close()


def test_without_contexts_there_is_no_such_view(page: Opened) -> None:
    assert "contexts" not in page.page.locator(".marking button").all_inner_texts()
    assert page.page.locator(".contexts").count() == 0
    page.page.keyboard.press("6")
    assert page.page.locator(".marking [aria-pressed=true]").inner_text() == "n-grams"
