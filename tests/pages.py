"""Pages of documentation as programs: what a page shows is done, in order, in one empty folder.

| fence | what is done |
| --- | --- |
| `console` | lines that start with `$ ` are commands; the lines below each are what it prints, `…` for any lines, and within a line for any text. A command that fails is followed by `$ echo $?` |
| any language, with `title="FILE"` | it is written to that file |
| `python` | it is executed; with `>>> ` as a doctest |
| anything else | nothing; but it holds no commands |

`*Not run here: REASON.*` right before a fence tells the reader that it is not run, and why; `<!-- slow -->` leaves it to
`make test-all`. `python -m tests.pages docs/data.md` writes into a page what its commands print today, where that differs, with the page's own `…` kept
(`--slow`: what the slow ones print, too).
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
NOT_RUN = re.compile(r"\*Not run here: .+\.\*", re.DOTALL)
COMMAND = re.compile(r"^\s*(\$ )?(\.venv/bin/)?(harness|make|pip|python3?|pytest|zensical) \S", re.MULTILINE)
SHELL = re.compile(r"""(?:[^'"|<>&;]|'[^']*'|"[^"]*")*[|<>&;]""")
"""A command that needs a shell: a sign of one outside quotes."""


class Lies(Exception):
    """A page that says what is not so: place, what it says, what is so."""


@dataclass
class Block:
    """A fence of a page."""

    page: Path
    line: int
    """Of the opening fence, from 1."""
    language: str
    title: str | None
    text: str
    marks: list[str]
    """The paragraphs and comments right before it."""

    @property
    def place(self) -> str:
        return f"{self.page.name} line {self.line}"

    @property
    def slow(self) -> bool:
        return "<!-- slow -->" in self.marks

    @property
    def not_run(self) -> bool:
        return any(NOT_RUN.fullmatch(mark) for mark in self.marks)


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """The fences of a page, in order."""
    fences, marks = [], []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8") if text is None else text):
        if token.type == "fence":
            language, _, rest = token.info.strip().partition(" ")
            title = re.search(r'title="([^"]+)"', rest)
            assert token.map is not None
            fences.append(Block(page, token.map[0] + 1, language, title and title[1], token.content, marks))
            marks = []
        elif token.type in ("inline", "html_block"):
            # `slow` and `not run` may both stand before a fence; any other paragraph ends what was said before
            content = token.content.strip()
            marks = [*marks, content] if content == "<!-- slow -->" or NOT_RUN.fullmatch(content) else []
        elif not token.type.startswith("paragraph"):
            marks = []
    return fences


@dataclass
class Shown:
    """A command of a `console` block with what the page says it prints."""

    command: str
    expected: list[str] = field(default_factory=list)


def shown(block: Block) -> list[Shown]:
    """The commands of a block; one that ends in a backslash goes on in the next line."""
    commands: list[Shown] = []
    more = False
    for line in block.text.splitlines():
        if more:
            commands[-1].command += "\n" + line
        elif line.startswith("$ "):
            commands.append(Shown(line[2:]))
        elif commands:
            commands[-1].expected.append(line)
        else:
            raise Lies(f"{block.place}: a console block starts with a command, `$ …`; found: {line}")
        more = line.endswith("\\") and (more or line.startswith("$ "))
    return commands


def trimmed(lines: list[str]) -> list[str]:
    """Without blanks at the ends of lines and blank lines at the end.

    >>> trimmed(["a  ", "", "b", " ", ""])
    ['a', '', 'b']
    """
    stripped = [line.rstrip() for line in lines]
    while stripped and not stripped[-1]:
        stripped.pop()
    return stripped


def agrees(expected: list[str], printed: list[str]) -> bool:
    """Whether this is what was printed, `…` standing for any lines, and within a line for any text.

    >>> agrees(["a …", "…", "z"], ["a 1", "b", "c", "z"]), agrees(["a …"], ["a 1", "b"])
    (True, False)
    """
    pattern = ""
    for line in trimmed(expected):
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in trimmed(printed))) is not None


NEAR = 0.6
"""Lines this much alike are taken for one that has changed."""


def updated(expected: list[str], printed: list[str]) -> list[str]:
    """What was printed, left out where the page leaves out: its `…` stay where the lines around them are found again.

    >>> updated(["rouge1  0.79", "…", "run folder  runs/x-…"], ["ROUGE-1  0.79", "a", "b", "run folder  runs/x-1"])
    ['ROUGE-1  0.79', '…', 'run folder  runs/x-…']
    """
    kept: list[str] = []
    place = 0
    for line in trimmed(expected):
        if line.strip() == "…":
            kept.append(line)
            continue
        pattern = ".*?".join(map(re.escape, line.split("…")))
        rest = printed[place:]
        same = next((i for i, other in enumerate(rest) if re.fullmatch(pattern, other.rstrip())), None)
        if same is not None:
            kept.append(line)
            place += same + 1
            continue
        alike = [difflib.SequenceMatcher(None, *map(_folded, (line, other))).ratio() for other in rest]
        if not alike or max(alike) < NEAR:
            return printed
        kept.append(rest[alike.index(max(alike))])
        place += alike.index(max(alike)) + 1
    return kept if agrees(kept, printed) else printed


def _folded(line: str) -> str:
    return " ".join(line.lower().split())


class Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return agrees(want.splitlines(), got.splitlines())


class Reader:
    """Somebody who does all that a page shows, in an empty folder; used as a context, which puts everything back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__page__"}
        self.code = 0

    def __enter__(self) -> Reader:
        self._before = (os.getcwd(), dict(os.environ), list(sys.path), list(sys.argv), set(sys.modules))
        os.chdir(self.folder)
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        os.environ["PYTHONPATH"] = str(ROOT)
        os.environ["HARNESS_PROGRESS"] = "0"  # on a busy machine any stage can take ten seconds
        for name in ("COLUMNS", "FORCE_COLOR"):
            os.environ.pop(name, None)
        sys.argv = ["harness"]
        sys.path.insert(0, "")
        if huggingface := sys.modules.get("harness.systems.huggingface"):
            huggingface._say_that_batches_matter.cache_clear()  # which a page before this one may have had said
        return self

    def __exit__(self, *exception: object) -> None:
        folder, environment, path, arguments, modules = self._before
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:], sys.argv[:] = path, arguments
        for name in set(sys.modules) - modules:  # another page may have a module of the same name
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(self.folder)):
                del sys.modules[name]

    def does(self, block: Block) -> None:
        """What the block shows; raises `Lies` where something else happens."""
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            if path.suffix == ".py":
                importlib.invalidate_caches()
                sys.modules.pop(path.stem, None)  # another page or test may have had a module of this name
        elif block.language == "console":
            for _, problem in self.types(block):
                if problem:
                    raise Lies(problem)
        elif block.language == "python":
            self._python(block)

    def types(self, block: Block) -> Iterator[tuple[list[str], str | None]]:
        """What each command of a block printed, and what is wrong with that."""
        commands = shown(block)
        for number, command in enumerate(commands):
            following = commands[number + 1].command if number + 1 < len(commands) else ""
            if command.command == "echo $?":
                printed = [str(self.code)]
            else:
                self.code, text = self.run(command.command)
                printed = trimmed(text.replace(str(self.folder), "…").splitlines())
            problem = None
            if not agrees(command.expected, printed):
                lines = difflib.unified_diff(
                    trimmed(command.expected), printed, "the page", "printed", lineterm="", n=1
                )
                problem = "\n".join([f"{block.place}: $ {command.command}", *lines])
            elif self.code and "echo $?" not in (command.command, following):
                problem = (
                    f"{block.place}: $ {command.command}\nends with code {self.code}; expected 0, or `$ echo $?` next"
                )
            yield printed, problem

    def run(self, command: str) -> tuple[int, str]:
        """Its exit code, and all that it prints. `harness` is called in this process, which has loaded what it needs."""
        words = None if SHELL.match(command) else self._words(command)
        if words and words[0] == "harness":
            return self._harness(words[1:])
        if words and words[0] == "make":
            for name in ("Makefile", "pyproject.toml", "constraints.txt", "docs", "mkdocs.yml", "harness", ".venv"):
                if not (self.folder / name).exists():
                    (self.folder / name).symlink_to(ROOT / name)
            # setting up is the caller's: nothing is installed from here
            command = shlex.join(["make", "-o", ".venv/demo.stamp", "-o", ".venv/dev.stamp", *words[1:]])
        ended = subprocess.run(
            ["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return ended.returncode, ended.stdout

    def _words(self, command: str) -> list[str]:
        """As a shell splits them: quotes, variables and file names with stars."""
        split = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
        return split.stdout.split("\0")[:-1]

    def _harness(self, arguments: list[str]) -> tuple[int, str]:
        from harness.cli.main import main

        text, code = io.StringIO(), 0
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            try:
                main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        return code, text.getvalue()

    def _python(self, block: Block) -> None:
        if ">>> " in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, self.names, block.page.name, None, block.line)
            report: list[str] = []
            doctest.DocTestRunner(checker=Checker()).run(test, out=report.append, clear_globs=False)
            self.names.update(test.globs)
            if report:
                raise Lies(f"{block.place}\n{''.join(report)}")
            return
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("\n" * block.line + block.text, str(block.page), "exec"), self.names)
        except Exception as error:
            raise Lies(f"{block.place}\n{traceback.format_exc()}") from error


def check(page: Path, folder: Path, slow: bool = False, text: str | None = None) -> None:
    """Does all that a page shows, with `slow` also what takes long; raises `Lies` where something else happens."""
    with Reader(folder) as reader:
        for block in blocks(page, text):
            runs = block.title or block.language in ("console", "python")
            if not runs and not block.not_run and COMMAND.search(block.text):
                raise Lies(
                    f"{block.place}: commands that nobody runs; make it ```console, or mark it: *Not run here: …*"
                )
            if not block.not_run and (slow or not block.slow):
                reader.does(block)


def rewritten(page: Path, folder: Path, slow: bool = False) -> str:
    """The page with what its commands print today, with `slow` also those that take long; what agrees stays as it is."""
    lines = page.read_text(encoding="utf-8").splitlines()
    replaced: list[tuple[int, int, list[str]]] = []
    with Reader(folder) as reader:
        for block in blocks(page):
            if block.not_run or (block.slow and not slow):
                continue
            if block.language != "console" or block.title:
                try:
                    reader.does(block)
                except Lies as lie:  # Python is for its author to mend
                    print(lie, file=sys.stderr)
                continue
            new: list[str] = []
            for command, (printed, problem) in zip(shown(block), reader.types(block), strict=True):
                new += [f"$ {command.command}", *(updated(command.expected, printed) if problem else command.expected)]
            replaced.append((block.line, block.line + len(block.text.splitlines()), "\n".join(new).splitlines()))
    for start, end, new in reversed(replaced):
        lines[start:end] = new
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in [argument for argument in sys.argv[1:] if argument != "--slow"]:
        with tempfile.TemporaryDirectory() as temporary:
            text = rewritten(Path(name).resolve(), Path(temporary).resolve(), "--slow" in sys.argv)
            Path(name).write_text(text, encoding="utf-8")
