"""A results table in LaTeX with booktabs, ready to be pasted or read by \\input.

Any label compiles: what TeX cares about is escaped, Greek letters and common signs are set as mathematics, letters that
pdflatex knows stay as they are, and other characters show their code point in pdflatex, themselves in lualatex and
xelatex.

>>> escaped("50% of [A_1] --- β")
'50\\\\% of {[}A\\\\_1{]} -{}-{}- $\\\\beta$'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.tables.cells import Cell, Column, Section, Table, half_width, number
from harness.report.tables.notes import BETTER, MISSING, WORSE

ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\texttt{\char34}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "[": "{[}", "]": "{]}", "*": "{*}",
    BETTER: r"$^\dagger$", WORSE: r"$^\ddagger$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$",
    "≈": r"$\approx$", "∞": r"$\infty$", "−": "$-$", "×": r"$\times$", "→": r"$\rightarrow$", "←": r"$\leftarrow$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$",
}  # fmt: skip
KEPT = frozenset(
    "¡¢£¥§©ª¬®°²³µ¶·¹º¼½¾¿÷ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿĀāĂăĆćĈĉĊċČčĎďĒēĔĕĖėĚěĜĝĞğĠġĢģĤĥĨĩĪī"
    "ĬĭİıĴĵĶķĹĺĻļĽľŁłŃńŅņŇňŌōŎŏŐőŒœŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŨũŪūŬŭŮůŰűŴŵŶŷŸŹźŻżŽžȘșȚț–—‘’“”•…‰€™"
)
"""What pdflatex typesets with no package at all: found by compiling each, as the tests do again."""
GREEK = (
    r"α\alpha β\beta γ\gamma δ\delta ε\epsilon ζ\zeta η\eta θ\theta ι\iota κ\kappa λ\lambda μ\mu ν\nu ξ\xi οo π\pi "
    r"ρ\rho σ\sigma ς\varsigma τ\tau υ\upsilon φ\phi χ\chi ψ\psi ω\omega Γ\Gamma Δ\Delta Θ\Theta Λ\Lambda Ξ\Xi "
    r"Π\Pi Σ\Sigma Υ\Upsilon Φ\Phi Ψ\Psi Ω\Omega"
)
ESCAPES |= {name[0]: f"${name[1:]}$" for name in GREEK.split()}
FALLBACK = (
    "% Characters that plain pdflatex lacks show their code point there. If your document sets them up, put\n"
    "% \\newcommand{\\harnesschar}[2]{#1} into its preamble; lualatex and xelatex only need a font that has them.\n"
    "\\providecommand{\\harnesschar}[2]{\\ifdefined\\Umathchar #1\\else\\texttt{U+#2}\\fi}"
)


@dataclass(frozen=True)
class Float:
    """The environment around the table."""

    caption: str | None = None
    """LaTeX as it stands."""
    label: str | None = None
    wide: bool = False
    """Over both columns of a page."""


def written(
    table: Table,
    notes: Sequence[str],
    signatures: Sequence[tuple[str, str]],
    traces: Sequence[str],
    float_: Float,
) -> str:
    star = "*" if float_.wide else ""
    body = [
        rf"\begin{{table{star}}}[t]",
        r"\centering",
        r"\setlength{\belowcaptionskip}{\smallskipamount}",
        rf"\caption{{{_caption(table) if float_.caption is None else float_.caption}}}",
        rf"\label{{{float_.label or 'tab:scores'}}}",
        r"\small",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["System", *(_heading(column, table.mixed) for column in table.columns)]) + r" \\",
    ]
    for section in table.sections:
        body += [r"\midrule", *_section(section, table)]
    body += [r"\bottomrule", r"\end{tabular}"]
    if notes or signatures:
        body += ["", r"\medskip", r"\begin{minipage}{\linewidth}", r"\footnotesize\raggedright", *map(escaped, notes)]
        body += [f"{escaped(columns)}: {code(signature)}." for columns, signature in signatures]
        body += [r"\end{minipage}"]
    body += [rf"\end{{table{star}}}"]
    head = [r"% Needs \usepackage{booktabs} and LaTeX of 2020 or later.", *(f"% {trace}" for trace in traces)]
    fallback = [FALLBACK] if any(r"\harnesschar{" in line for line in body) else []
    return "\n".join([*head, *fallback, *body]) + "\n"


def escaped(text: str) -> str:
    """A text that TeX shows as it is, in any engine."""
    return re.sub(r"([-,])(?=\1)", r"\1{}", "".join(map(_character, text)))  # -- and ,, would be joined


def _character(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isascii() or character in KEPT:
        return character
    return rf"\harnesschar{{{character}}}{{{ord(character):04X}}}"


def code(text: str) -> str:
    """A text in typewriter letters, which have all of ASCII in its places; lines may break after a bar."""
    shown = "".join(
        character
        if (character.isalnum() and character.isascii()) or character in " .:;=+-/()@,|"
        else rf"{{\char{ord(character)}}}"
        if character.isascii()
        else _character(character)
        for character in text
    )
    return rf"\texttt{{{shown}}}".replace("|", r"|\allowbreak{}")


def _caption(table: Table) -> str:
    return f"Scores on {escaped(', '.join(section.dataset for section in table.sections))}."


def _heading(column: Column, arrows: bool) -> str:
    return escaped(column.title + (f" {column.arrow}" if arrows and column.arrow else ""))


def _section(section: Section, table: Table) -> list[str]:
    lines = []
    if len(table.sections) > 1:
        lines.append(rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{\emph{{{escaped(section.dataset)}}}}} \\")
        lines.append(r"\addlinespace")
    for i, row in enumerate(section.rows):
        pairs = list(zip(row.cells, table.columns, strict=True))
        below = [_below(*pair) for pair in pairs] if table.interval == "bounds" else []
        if i and table.interval == "bounds":
            lines.append(r"\addlinespace")
        lines.append(" & ".join([escaped(row.label), *(_cell(*pair, table.interval) for pair in pairs)]) + r" \\")
        if any(below):
            lines.append(" & ".join(["", *below]).lstrip() + r" \\")
    return lines


def _cell(cell: Cell | None, column: Column, interval: str) -> str:
    if cell is None:
        return ""
    score = cell.score
    if score.estimate is None:
        return MISSING
    shown = _number(score.estimate, column.digits)
    shown = rf"\textbf{{{shown}}}" if cell.best else shown
    half = half_width(score)
    if interval == "plus-minus" and half is not None:
        shown += rf" {{\scriptsize $\pm$ {_number(half, column.digits)}}}"
    marks = {"better": r"\rlap{$^\dagger$}", "worse": r"\rlap{$^\ddagger$}"}
    return shown + marks.get(cell.against or "", "")


def _below(cell: Cell | None, column: Column) -> str:
    """The interval, in the line below the estimate."""
    if cell is None or cell.score.low is None or cell.score.high is None:
        return ""
    low, high = (_number(value, column.digits) for value in (cell.score.low, cell.score.high))
    return rf"{{\scriptsize [{low}, {high}]}}"


def _number(value: float, digits: int) -> str:
    return number(value, digits).replace("-", "$-$")
