r"""Control characters made visible: nothing that models, servers, files and names hold moves a cursor or turns a text.

An escape sequence in a run's name can clear a terminal, rename its window or paint over a score; an override of the
writing direction shows `bad` as `dab`. Whatever is told (tables, messages, warnings, tracebacks) shows such characters
as Python writes them in a string. Line ends and tabs stay where a text is of several lines, not in a name or a cell.

>>> print(visible("\x1b[2Jlead\u202e"), visible("two\nlines"), in_line("two\nlines"), sep="; ")
\x1b[2Jlead\u202e; two
lines; two\nlines
"""

from __future__ import annotations

import re

_LINES = r"\n\t"
_UNSEEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""C0 and C1, separators of lines, embeddings, overrides and isolates of the direction, halves of surrogate pairs."""
_IN_TEXT = re.compile(f"[{_UNSEEN}]")
_IN_LINE = re.compile(f"[{_LINES}{_UNSEEN}]")


def visible(text: str) -> str:
    """A text of one or more lines."""
    return text if text.isprintable() else _IN_TEXT.sub(_escaped, text)


def in_line(text: str) -> str:
    """A name or a cell: what it holds stays in its line."""
    return text if text.isprintable() else _IN_LINE.sub(_escaped, text)


def in_json(document: str) -> str:
    r"""A JSON document with those that JSON allows in a string as `\u009b`: the same values."""
    if document.isascii() and "\x7f" not in document:  # JSON escapes all others below; of megabytes that is soon seen
        return document
    return _IN_TEXT.sub(lambda character: f"\\u{ord(character[0]):04x}", document)


def _escaped(character: re.Match[str]) -> str:
    return character[0].encode("unicode_escape", "surrogatepass").decode("ascii")
