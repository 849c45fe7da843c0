"""`harness verify`: tables in three formats, macros and prose; what was edited, is stale, tampered with or missing is named
with its place."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Called, called_in, write_jsonl

N = 40
SYSTEMS = {"base": 5, "ours": 8, "rival": 7}
"""How many of an output's ten words are right."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("paper")
    texts = [[f"w{(7 * i + 3 * k) % 61}" for k in range(10)] for i in range(N)]
    write_jsonl(place / "dev.jsonl", [{"id": f"{i}", "references": [" ".join(t)]} for i, t in enumerate(texts)])
    for name, right in SYSTEMS.items():
        outputs = [" ".join([*t[: right - i % 3], *["x"] * (10 - right + i % 3)]) for i, t in enumerate(texts)]
        write_jsonl(place / f"{name}.jsonl", [{"id": f"{i}", "output": text} for i, text in enumerate(outputs)])
        overrides = [
            "dataset=file", f"dataset.path={place}/dev.jsonl", "system=predictions", f"system.path={place}/{name}.jsonl",
            "metrics=[bleu,token_f1]", "tracking=none", "progress=false", "stats.resamples=200",
            f"output_dir={place}/runs/paper/dev-{name}",
        ]  # fmt: skip
        called_in(place, "run", *overrides)
    return place


@pytest.fixture
def paper(folder: Path, tmp_path: Path, cli: Callable[..., Called]) -> Callable[..., Path]:
    """A table of a copy of the runs, in the folder that commands are called in."""
    shutil.copytree(folder / "runs", tmp_path / "runs")

    def make(name: str, *more: str) -> Path:
        runs = [f"runs/paper/dev-{system}" for system in SYSTEMS]
        called = cli("table", *runs, "--resamples=200", "--no-progress", "-o", name, *more)
        assert called.code == 0, called.err
        return tmp_path / name

    return make


@pytest.mark.parametrize("name", ["scores.md", "scores.tex", "scores.csv"])
@pytest.mark.parametrize(
    "more", [(), ("--baseline", "dev-base", "--interval=plus-minus", "--score", "bleu"), ("--digits=1",)]
)
def test_a_table_as_it_was_written(
    cli: Callable[..., Called], paper: Callable[..., Path], name: str, more: tuple[str, ...]
) -> None:
    called = cli("verify", str(paper(name, *more)), "--json")
    answer = json.loads(called.out)
    assert (called.code, answer["ok"], answer["tables"], answer["findings"]) == (0, True, 1, [])
    assert answer["numbers"] >= 6


def test_a_table_for_a_paper_with_its_macros(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    shape = ("--sort=token_f1", "--name", "dev-ours=Ours (new)", "--note=short", "--wide", "--digits=auto")
    table = paper("scores.tex", *shape, "--macros", "macros.tex")
    text = table.read_text()
    assert text.index("Ours (new)") < text.index("rival &") < text.index("base &")
    assert r"\begin{table*}" in text
    assert "nrefs" not in text
    document = table.with_name("paper.tex")
    document.write_text("We reach \\harness{dev-ours}{bleu} BLEU.\n\\harness{dev-ours}{meteor} \\harness{gone}{bleu}\n")
    called = cli("verify", "scores.tex", "macros.tex")
    assert (called.code, called.out.count("\n")) == (0, 1)
    called = cli("verify", "paper.tex")
    assert called.code == 1
    assert "paper.tex:2:1: the run dev-ours has no score meteor" in called.out
    assert "paper.tex:2:28: the run gone is missing" in called.out


def edited(path: Path, row: str, change: Callable[[str], str]) -> tuple[int, int]:
    """Changes the first row of a table that begins with a name; (line, column of what changed), from 1."""
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith(row))
    before, lines[place] = lines[place], change(lines[place])
    path.write_text("\n".join(lines) + "\n")
    return place + 1, next(i for i, (a, b) in enumerate(zip(before, lines[place], strict=False), 1) if a != b)


@pytest.mark.parametrize(("name", "row"), [("scores.md", "| ours"), ("scores.tex", "ours &")])
def test_a_number_edited_by_hand_is_named_with_its_place(
    cli: Callable[..., Called], paper: Callable[..., Path], name: str, row: str
) -> None:
    path = paper(name)
    digit = "9" if "9" not in path.read_text().split(row)[1][:30] else "8"
    line, column = edited(path, row, lambda text: text.replace(".", f".{digit}", 1))
    called = cli("verify", name)
    assert called.code == 1
    ((place, message),) = [shown.split(": ", 1) for shown in called.out.splitlines()[:-1]]
    assert place.startswith(f"{name}:{line}:")
    assert int(place.rpartition(":")[2]) <= column
    assert "where the run has" in message
    assert "(BLEU of ours)" in message


def test_bold_and_daggers_are_tested_again(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    path = paper("scores.md", "--baseline", "dev-base")
    edited(path, "| base", lambda text: text.replace("| base", "| base", 1).replace(" [", "† [", 1))
    edited(path, "| ours", lambda text: text.replace("**", ""))
    called = cli("verify", "scores.md")
    assert called.code == 1
    assert "has †; the tests give no mark (BLEU of base)" in called.out
    assert "is not bold; the tests say it is of the best (BLEU of ours)" in called.out


def test_a_row_of_nobody(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    path = paper("scores.md")
    edited(path, "| rival", lambda text: text.replace("rival", "other"))
    called = cli("verify", "scores.md")
    assert (called.code, "no run of the table is called 'other'" in called.out) == (1, True)


def test_a_csv_edited_by_hand(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    path = paper("scores.csv")
    head, first, *rest = path.read_text().splitlines()
    cells = first.split(",")
    cells[2] = str(float(cells[2]) + 1)
    path.write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
    called = cli("verify", "scores.csv")
    assert called.code == 1
    column = len(",".join(cells[:2])) + 2
    assert f"scores.csv:2:{column}:" in called.out
    assert "(bleu)" in called.out


@pytest.mark.parametrize(
    ("field", "value"),
    [("bleu_signature", "tok:none"), ("n", "41"), ("failed", "1"), ("dataset_key", "0"), ("interval_level", "0.9")],
)
def test_what_a_csv_says_beside_the_scores(
    cli: Callable[..., Called], paper: Callable[..., Path], field: str, value: str
) -> None:
    path = paper("scores.csv")
    head, *rows = csv.reader(path.read_text().splitlines())
    rows[1][head.index(field)] = value
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    called = cli("verify", "scores.csv")
    assert called.code == 1, called.out
    assert "scores.csv:3:" in called.out
    assert f"{value}, where the run has" in called.out
    assert f"({field})" in called.out


def test_a_csv_with_names_of_its_own_and_one_by_slices(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    paper("named.csv", "--name", "dev-ours=Ours, better", "--sort", "bleu")
    paper("sliced.csv", "--by", "reference_length")
    assert cli("verify", "named.csv").code == 0
    called = cli("verify", "sliced.csv")
    assert called.code == 0, called.out


@pytest.mark.parametrize(
    ("name", "place"), [("scores.md", "scores.md:4:3"), ("scores.tex", ":1: bleu"), ("scores.csv", "scores.csv:3:5")]
)
def test_a_row_of_another_signature_is_named_with_its_place(
    cli: Callable[..., Called], paper: Callable[..., Path], folder: Path, tmp_path: Path, name: str, place: str
) -> None:
    paper(name)
    shutil.rmtree(tmp_path / "runs/paper/dev-ours")
    overrides = [
        "dataset=file", f"dataset.path={folder}/dev.jsonl", "system=predictions", f"system.path={folder}/ours.jsonl",
        "metrics=[bleu,token_f1]", "metrics.bleu.tokenize=char", "tracking=none", "progress=false",
        "stats.resamples=200", f"output_dir={tmp_path}/runs/paper/dev-ours",
    ]  # fmt: skip
    assert cli("run", *overrides).code == 0
    called = cli("verify", name)
    assert called.code == 1, called.err
    assert "the run dev-ours was evaluated again since the table was made (stale)" in called.out
    line = next(line for line in called.out.splitlines() if "has another signature than that of" in line)
    assert place in line
    assert "tok:char" in line
    assert "tok:13a" in line


@pytest.mark.parametrize("name", ["scores.md", "scores.tex"])
def test_signatures_and_numbers_of_examples_of_the_note(
    cli: Callable[..., Called], paper: Callable[..., Path], name: str
) -> None:
    path = paper(name)
    path.write_text(path.read_text().replace("tok:13a", "tok:none").replace("n = 40", "n = 400"))
    called = cli("verify", name)
    assert called.code == 1
    assert "400, where the runs have 40 (examples of dev)" in called.out
    assert "tok:none" in called.out
    assert "(signature of BLEU)" in called.out


@pytest.mark.parametrize("name", ["scores.md", "scores.tex"])
@pytest.mark.parametrize(
    ("was", "now"), [("95", "99"), ("200 resamples", "9,000 resamples"), ("12345", "1"), (" 0.05", " 0.01")]
)
def test_how_a_table_was_tested(
    cli: Callable[..., Called], paper: Callable[..., Path], name: str, was: str, now: str
) -> None:
    table = paper(name, "--baseline", "dev-base")
    above, mark, note = table.read_text().partition("In brackets")
    table.write_text(above + mark + note.replace(was, now, 1))
    (finding,) = json.loads(cli("verify", name, "--json").out)["findings"]
    number, right = now.split()[0], was.split()[0]
    assert finding["message"] == f"{number}, where the runs have {right} (the note)"
    table.write_text(above + "Intervals hold 99" + note.partition("95")[2])  # in the author's own words
    assert cli("verify", name).code == 0


def test_shades_and_blanks_of_a_cell_are_no_numbers(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    table = paper("scores.tex")
    text = table.read_text()
    (number,) = re.findall(r"ours & \\textbf\{([\d.]+)\}", text)
    shaded = r"\cellcolor{gray!20}\phantom{0}" + rf"\textbf{{{number}}}"
    table.write_text(text.replace(rf"\textbf{{{number}}}", shaded, 1))
    assert cli("verify", "scores.tex").code == 0
    table.write_text(text.replace(rf"\textbf{{{number}}}", shaded.replace(number, "99.9"), 1))
    assert f"99.9, where the run has {number}" in cli("verify", "scores.tex").out


def test_a_damaged_block_beside_a_good_one_is_named(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    table = paper("scores.md")
    text = table.read_text()
    table.write_text(text + "\n" + text.replace('harness-table {"schema"', 'harness-table {"schema', 1))
    called = cli("verify", "scores.md")
    assert called.code == 2
    assert "does not say what the table was made of" in called.err


def test_a_block_that_was_edited_is_an_error_of_its_own(cli: Callable[..., Called], paper: Callable[..., Path]) -> None:
    path = paper("scores.md")
    path.write_text(path.read_text().replace('"options": {', '"options": {"strange": 1, '))
    called = cli("verify", "scores.md")
    assert called.code == 2
    assert "does not say what the table was made of" in called.err


def test_a_run_that_changed_or_went(cli: Callable[..., Called], paper: Callable[..., Path], tmp_path: Path) -> None:
    paper("scores.md")
    scores = tmp_path / "runs/paper/dev-ours/scores.json"
    document = json.loads(scores.read_text())
    right = document["scores"]["bleu"]["estimate"]
    document["scores"]["bleu"]["estimate"] = right + 3
    scores.write_text(json.dumps(document))
    called = cli("verify", "scores.md")
    assert called.code == 1
    assert f"dev-ours: bleu: scores.json has the estimate {right + 3}, its rows give {right}" in called.out
    shutil.rmtree(tmp_path / "runs/paper/dev-ours")
    called = cli("verify", "scores.md")
    assert called.code == 1
    assert "the run dev-ours (paper/dev-ours) is missing" in called.out


def test_a_stale_run(cli: Callable[..., Called], paper: Callable[..., Path], tmp_path: Path) -> None:
    paper("scores.md")
    manifest = tmp_path / "runs/paper/dev-ours/manifest.json"
    text = manifest.read_text()
    (tmp_path / "scores.md").write_text(
        (tmp_path / "scores.md").read_text().replace(json.loads(text)["files"]["scores.json"][:16], "0" * 16)
    )
    called = cli("verify", "scores.md")
    assert called.code == 1
    assert "the run dev-ours was evaluated again since the table was made (stale)" in called.out


def test_numbers_of_prose(cli: Callable[..., Called], paper: Callable[..., Path], tmp_path: Path) -> None:
    paper("scores.md")
    right = json.loads((tmp_path / "runs/paper/dev-ours/scores.json").read_text())["scores"]["bleu"]
    shown, low = f"{right['estimate']:.1f}", f"{right['low']:.2f}"
    text = f"Ours has {shown}<!-- harness: dev-ours bleu --> ({low}<!-- harness: dev-ours bleu.low --> at least).\n"
    (tmp_path / "text.md").write_text(text)
    assert cli("verify", "text.md").code == 0
    (tmp_path / "text.md").write_text(text.replace(shown, "99.9"))
    called = cli("verify", "text.md")
    assert called.code == 1
    assert f"text.md:1:10: 99.9, where the run has {shown} (bleu of dev-ours)" in called.out


def test_marks_of_prose_that_mark_nothing(
    cli: Callable[..., Called], paper: Callable[..., Path], tmp_path: Path
) -> None:
    paper("scores.md", "--macros", "macros.tex")
    right = json.loads((tmp_path / "runs/paper/dev-ours/scores.json").read_text())["scores"]["bleu"]["estimate"]
    (tmp_path / "text.md").write_text(
        f"**{right:.1f}**<!-- harness: dev-ours bleu --> `{right:.2f}`\n<!-- harness: dev-ours bleu -->\n"
        "none <!-- harness: dev-ours bleu -->, 4.1<!-- harness: dev-ours -->, 4<!-- harness: dev-ours blue -->\n"
    )
    called = cli("verify", "text.md")
    assert called.code == 1
    assert called.out.splitlines() == [
        "text.md:3:6: no number stands before the mark (bleu of dev-ours)",
        "text.md:3:42: '<!-- harness: dev-ours -->'; expected <!-- harness: RUN SCORE -->",
        "text.md:3:70: the run dev-ours has no score blue (did you mean 'bleu'?); expected one of bleu, token_f1",
        "2 numbers in 0 tables: 3 wrong",
    ]
    (tmp_path / "text.tex").write_text("\\harness{dev-ours}{bleu} % \\harness{dev-nobody}{bleu}\n")
    assert cli("verify", "text.tex", "macros.tex").code == 0


@pytest.mark.parametrize("content", ["Nothing here.\n", ""])
def test_a_document_without_anything_to_trace(cli: Callable[..., Called], tmp_path: Path, content: str) -> None:
    (tmp_path / "text.md").write_text(content)
    called = cli("verify", "text.md")
    assert called.code == 2
    assert "nothing that can be traced" in called.err
    assert cli("verify", "nowhere.md").code == 2
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    assert cli("verify", "text.csv").code == 2
