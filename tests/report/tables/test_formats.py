"""Tables as Markdown, CSV and LaTeX: read back by a real Markdown parser, csv, pandas and, where installed, TeX."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness import __version__
from harness.report.tables import csv as csv_table
from harness.report.tables import latex as latex_table
from harness.report.tables import markdown as markdown_table
from harness.report.tables import notes
from harness.report.tables.cells import lay_out, plain
from harness.types import Study
from tests.report.studies import comparison, run, study

HOSTILE = [
    "\\", "\\\\", "|", "a|b", "\\|", "*b*", "**", "_u_", "`code`", "``", "<b>", "</table>", "<!-- -->", "-->", "[a](b)",
    "![i](j)", "&amp;", "&", "$x$", "$", "#1", "% comment", "^_^", "~~s~~", "{}", "}{", "\\input{x}", "\\end{table}",
    '"quoted"', "it's", "--", "---", "<<>>", ",,", "?`", "!`", "''", "``x''", "[t]", "*", "[", "- item", "1. one", "> q",
    "@user", "http://a.b/c_d", "fi fl", "é ß ø Œ Ł", "λ=0.1 → Ω ≤ 5", "日本語", "👩‍💻", "Привет", "ąę", "عربي", "\u202eabc",
    "a\nb\r\nc\td", "=1+1", "x" * 200, "^^M", "^^5c", "\x00\x1b",
]  # fmt: skip
labels = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))


def hostile(label: str, dataset: str = "dev") -> Study:
    """Two systems, the first one of that name, on one data set or two."""
    a, b = run(label, {"bleu": 10.0, "ter": 50.0}, dataset), run("other", {"bleu": 20.0, "ter": None}, dataset)
    tests = [comparison(a, b, "bleu", "better"), comparison(a, b, "ter")]
    return study([a, b], tests=tests, against=[comparison(a, b, "bleu", "better")])


def markdown(studied: Study, interval: str = "bounds") -> str:
    table = lay_out(studied, None, interval, None)
    note = notes.sentences(studied, table), notes.signatures(table), notes.traces(table)
    return markdown_table.written(table, *note)


def latex(studied: Study, interval: str = "bounds", caption: str | None = None) -> str:
    table = lay_out(studied, None, interval, None)
    note = notes.sentences(studied, table), notes.signatures(table), notes.traces(table)
    return latex_table.written(table, *note, latex_table.Float(caption))


def parsed(text: str) -> tuple[list[list[str]], list[str], list[str]]:
    """(the table's rows, paragraphs, comments); fails on anything but text, bold and code."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    rows: list[list[str]] = []
    paragraphs: list[str] = []
    inside = False
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        if token.type in ("table_open", "table_close"):
            inside = token.type == "table_open"
        if token.type == "inline":
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special", "strong_open", "strong_close", "code_inline"}, text
            studied = "".join(child.content for child in token.children or [])
            (rows[-1] if inside else paragraphs).append(studied)
    return rows, paragraphs, [token.content for token in tokens if token.type == "html_block"]


@given(labels)
def test_markdown_shows_any_label_as_it_is(label: str) -> None:
    studied = hostile(label)
    rows, paragraphs, comments = parsed(markdown(studied))
    assert rows == [
        ["System", "BLEU ↑", "TER ↓"],
        [plain(label), "10.00 [9.80, 10.40]", "50.00 [49.80, 50.40]"],
        ["other", "20.00† [19.80, 20.40]", "n/a"],
    ]
    assert paragraphs[0] == " ".join(notes.sentences(studied, lay_out(studied, None, "bounds", None)))
    assert paragraphs[1:] == ["BLEU: of:bleu|version:1", "TER: of:ter|version:1", f"harness: {__version__}"]
    assert len(comments) == 1 and comments[0].count("-->") == 1 and comments[0].rstrip().endswith("-->")


@given(labels)
def test_markdown_shows_any_data_set_as_it_is(dataset: str) -> None:
    first = hostile("a", dataset)
    second = hostile("a", "second")
    rows, paragraphs, _ = parsed(markdown(study(*([*part.groups[0].runs] for part in (first, second)))))
    names = [plain(dataset), "", "second", ""] if dataset != "second" else None
    assert names is None or [row[0] for row in rows[1:]] == names
    assert paragraphs[0].startswith(f"n = 3 examples of {plain(dataset)}. n = 3 examples of second.")


@given(labels, labels)
def test_csv_is_read_back(label: str, dataset: str) -> None:
    studied = hostile(label, dataset)
    text = csv_table.written(studied, lay_out(studied, None, "bounds", None), None)
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["dataset"], row["system"]) for row in rows] == [
        (csv_table.quoted(plain(dataset)), csv_table.quoted(plain(label))),
        (csv_table.quoted(plain(dataset)), "other"),
    ]
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, dtype=str, na_filter=False)
    assert frame.to_dict("records") == rows


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("=1+1", "'=1+1"), ("=HYPERLINK(\"http://h\")", "'=HYPERLINK(\"http://h\")"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"), ("@SUM(A1)", "'@SUM(A1)"), ("＝1", "'＝1"), ("-5", "-5"), ("+1e-3", "+1e-3"),
        ("a=b", "a=b"), ("'=1", "'=1"), ("lead", "lead"),
    ],
)  # fmt: skip
def test_csv_has_no_cell_that_a_spreadsheet_runs(label: str, expected: str) -> None:
    studied = study([run(label, {label: -0.5}, label), run("other", {label: 2.0}, label)])
    text = csv_table.written(studied, lay_out(studied, None, "bounds", None), None)
    head, first, _ = csv.reader(io.StringIO(text, newline=""))
    assert first[:3] == [expected, expected, "-0.5"]
    assert head[2:4] == [expected, csv_table.quoted(f"{label}_low")]


def test_csv_is_what_pandas_wants() -> None:
    studied = hostile("a")
    frame = pd.read_csv(io.StringIO(csv_table.written(studied, lay_out(studied, None, "bounds", None), None)))
    assert frame["bleu"].tolist() == [10.0, 20.0] and frame["bleu_low"].tolist() == [9.8, 19.8]
    assert frame["bleu_best"].tolist() == [False, True] and frame["bleu_best"].dtype == bool
    assert frame["bleu_vs_baseline"].fillna("").tolist() == ["", "better"]
    assert frame["ter"].isna().tolist() == [False, True]
    assert frame["test_seed"].tolist() == [7, 7] and frame["bleu_signature"][0] == "of:bleu|version:1"
    wide = pd.read_csv(io.StringIO(csv_table.written(studied, lay_out(studied, None, "plus-minus", 1), 1)))
    assert wide["bleu_half_width"].tolist() == [0.3, 0.3] and "bleu_low" not in wide


def test_csv_of_a_missing_score_is_empty_and_signatures_stand_together() -> None:
    studied = study([run("a", {"bleu": 10.0})], [run("b", {"bleu": 30.0, "ter": 50.0}, "test")])
    rows = list(csv.DictReader(io.StringIO(csv_table.written(studied, lay_out(studied, None, "bounds", None), None))))
    assert [row["system"] for row in rows] == ["a", "b"] and rows[0]["ter"] == rows[0]["ter_signature"] == ""
    names = list(rows[0])
    assert names.index("ter_signature") == names.index("bleu_signature") + 1


def test_intervals_in_each_form() -> None:
    studied = hostile("a")
    assert parsed(markdown(studied, "plus-minus"))[0][1][1] == "10.00 ± 0.30"
    assert parsed(markdown(studied, "none"))[0][1][1] == "10.00"
    assert r"\textbf{20.00} {\scriptsize $\pm$ 0.30}\rlap{$^\dagger$}" in latex(studied, "plus-minus")
    assert "scriptsize" not in latex(studied, "none") and "half of" not in latex(studied, "none")
    assert r"& {\scriptsize [9.80, 10.40]} & {\scriptsize [49.80, 50.40]} \\" in latex(studied)
    assert "$-$0.5000 &" in latex(study([run("a", {"own": -0.5, "other": 2.0})]))


# ---------------------------------------------------------------- TeX

DOCUMENT = r"""\documentclass{article}
%s
\usepackage{booktabs}
\pdfvariable
\textheight=400cm \textwidth=100cm
\begin{document}
\listoftables
%s
\end{document}
"""


def compiled(tables: str, folder: Path, packages: str = "", engine: str = "pdflatex") -> str:
    """The text of the PDF; a test is skipped where there is no such engine, and fails on any error of TeX."""
    needed = ["booktabs.sty", "lmodern.sty", *(["luaotfload.sty"] if engine == "lualatex" else [])]
    tools = (engine, "pdftotext", "kpsewhich")
    if not all(map(shutil.which, tools)) or subprocess.run(["kpsewhich", *needed], capture_output=True).returncode:
        pytest.skip(f"not all installed: {', '.join([*tools, *needed])} (TeX Live with lmodern, poppler-utils)")
    size = (
        "\\pdfpageheight=405cm \\pdfpagewidth=110cm" if engine == "pdflatex" else "\\pageheight=405cm \\pagewidth=110cm"
    )
    (folder / "t.tex").write_text(
        DOCUMENT.replace("\\pdfvariable", size) % (packages, tables), encoding="utf-8", newline="\n"
    )
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    for _ in range(2):  # the second pass reads the list of tables
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
    subprocess.run(["pdftotext", "-layout", "t.pdf"], cwd=folder, check=True, timeout=60)
    return (folder / "t.txt").read_text(encoding="utf-8")


def many(texts: list[str]) -> str:
    """A table with a row for each text, between bars of a number and a letter."""
    return latex(study([run(f"{i:04d}x{text}x", {"bleu": 1.0}) for i, text in enumerate(texts)]), "none")


def read_back(printed: str, count: int) -> list[str]:
    """The texts of the rows of `many`, without spaces; signs that TeX sets as accents are ASCII again."""
    rows: dict[int, str] = {}
    for line in printed.splitlines():
        words = "".join(line.split())
        if words[:4].isdecimal() and words[4:5] == "x" and words.endswith("1.00"):
            rows[int(words[:4])] = words[5:].removesuffix("1.00").removesuffix("x")
    assert sorted(rows) == list(range(count))
    same = str.maketrans({"ˆ": "^", "˜": "~", "’": "'"})
    return [unicodedata.normalize("NFKC", rows[i].translate(same)) for i in range(count)]


ASCII = [chr(i) for i in range(33, 127)]
PAIRS = [a + b for a in "-,'`\"<>?!|[]{}\\*^~_%$&#" for b in "-,'`\"<>?!|[]{}\\*^~_%$&#"]


def test_tex_shows_every_ascii_text_as_it_is(tmp_path: Path) -> None:
    texts = [*ASCII, *PAIRS, *(text for text in HOSTILE if text.isascii() and text.isprintable())]
    printed = compiled(many(texts), tmp_path, r"\usepackage[T1]{fontenc}\usepackage{lmodern}")
    assert read_back(printed, len(texts)) == [text.replace(" ", "") for text in texts]


def test_tex_needs_booktabs_only(tmp_path: Path) -> None:
    """In the oldest of encodings every label compiles, in the cells, the note and the caption; in one bold column."""
    texts = [*HOSTILE, "".join(sorted(latex_table.KEPT)), "".join(latex_table.ESCAPES)]
    tables = [many(texts), *(latex(hostile(text, text), "bounds") for text in HOSTILE if plain(text))]
    printed = compiled("\\clearpage\n".join(tables), tmp_path)
    assert "U+65E5" in printed and "Table 2" in printed


def test_tex_shows_letters_and_signs(tmp_path: Path) -> None:
    texts = ["ÀÉîñöøßçÅŒłŠžřğőŮ", "§£¿—“”", "αβγλωΓΩ", "≤≥≈∞→±×"]
    assert set(texts[0] + texts[1]) <= latex_table.KEPT  # all of which the test above compiles
    printed = compiled(many(texts), tmp_path, r"\usepackage[T1]{fontenc}\usepackage{lmodern}")
    assert read_back(printed, len(texts)) == texts


@pytest.mark.parametrize("interval", ["bounds", "plus-minus"])
def test_three_metrics_do_not_overflow_a_column(interval: str, tmp_path: Path) -> None:
    scores = {"bleu": 27.31, "rougeL": 0.4123, "chrf": 55.02}
    text = latex(study([run("lexrank", scores), run("our system", scores)]), interval)
    compiled(
        text, tmp_path, "\\setlength{\\hoffset}{0pt}\\AtBeginDocument{\\textwidth=7cm \\hsize=7cm \\linewidth=7cm}"
    )
    assert "Overfull" not in (tmp_path / "t.log").read_text(errors="replace")


def test_lualatex_shows_what_pdflatex_cannot(tmp_path: Path) -> None:
    printed = compiled(latex(hostile("Đorđe ąę")), tmp_path, engine="lualatex")
    assert "Đorđe ąę" in printed and "U+" not in printed


def test_a_caption_is_latex_as_it_stands() -> None:
    text = latex(hostile("a"), caption=r"Summaries \citep{x}")
    assert r"\caption{Summaries \citep{x}}" in text and r"\label{tab:scores}" in text
