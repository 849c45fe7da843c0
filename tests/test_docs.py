"""Documentation that is true: every command is run, every file that is named exists, every option too.

What a page shows is done by tests/pages.py. A page here is one test; those with slow blocks have a second, slow one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.pages import PAGES, ROOT, Lies, blocks, check, rewritten

OPTIONS = re.compile(r"(?<![\w.{/])~?(dataset|system|metrics|stats|tracking|postprocess|stop)\.([\w.]+)=")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r'\]\(([^)\s]+)\)|src="([^"]+)"')


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages(page: Path, tmp_path: Path) -> None:
    check(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if any(b.slow for b in blocks(page))], ids=name)
def test_pages_with_what_takes_long(page: Path, tmp_path: Path) -> None:
    check(page, tmp_path, slow=True)


# ---------------------------------------------------------------- what stands in running text


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    """To files; pages and headings are checked by the strict build of the site. A page of docs/ links to nothing
    outside, where the site would have no file."""
    for link, source in LINK.findall(page.read_text(encoding="utf-8")):
        target = (link or source).partition("#")[0]
        if target and "://" not in target:
            path = (page.parent / target).resolve()
            assert path.exists(), f"{name(page)} links to {target}, which does not exist"
            inside = page.parent == ROOT or path.is_relative_to(ROOT / "docs")
            assert inside, (
                f"{name(page)} links to {target}; the site has nothing outside docs/: name the file in backticks"
            )


def options_of(group: str, text: str) -> set[str]:
    """The options that a YAML of a config group has: `seed` of stats, `bleu.tokenize` of metrics."""
    content = yaml.safe_load(text) or {}
    if group != "metrics":
        return set(content)
    return {f"{metric}.{option}" for metric, options in content.items() if metric != "defaults" for option in options}


def known_options() -> dict[str, set[str]]:
    """The options of each config group, of all its files: `{"stats": {"seed", …}, …}`."""
    known: dict[str, set[str]] = {}
    for path in (ROOT / "conf").glob("*/*.yaml"):
        if path.parent.name != "experiment":
            known.setdefault(path.parent.name, set()).update(options_of(path.parent.name, path.read_text("utf-8")))
    known["dataset"] |= set(yaml.safe_load((ROOT / "conf/selection.yaml").read_text("utf-8")))
    known["stop"] = set(yaml.safe_load((ROOT / "conf/config.yaml").read_text("utf-8"))["stop"])
    return known


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_in_the_text_exist(page: Path) -> None:
    """`stats.seed=1` names an option of conf/, or of a YAML of the page's own, also where nothing runs it."""
    known = known_options()
    for block in blocks(page):
        if block.title and block.title.endswith(".yaml"):
            group = Path(block.title).parent.name
            known.setdefault(group, set()).update(options_of(group, block.text))
    not_run = [block.text for block in blocks(page) if block.not_run]
    for text in [*SPAN.findall(page.read_text("utf-8")), *not_run]:
        for group, option in OPTIONS.findall(text):
            starts = {".".join(option.split(".")[:depth]) for depth in (1, 2, 3)}
            assert starts & known[group], f"{name(page)}: conf/{group}/ has no option {option}; found in: {text}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_flags_in_the_text_exist(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`harness compare … --test` names a command and a flag that its help shows."""
    from harness.cli.main import main

    helps: dict[str, str] = {}
    for span in SPAN.findall(page.read_text(encoding="utf-8")):
        words = span.split()
        if words[0] != "harness" or len(words) < 2 or not re.fullmatch("[a-z]+", words[1]):
            continue
        if words[1] not in helps:
            with pytest.raises(SystemExit) as ended:
                main([words[1], "--help"])
            assert ended.value.code in (0, None), f"{name(page)}: there is no command `harness {words[1]}`"
            helps[words[1]] = capsys.readouterr().out
        for flag in re.findall(r"(?<!\S)--[a-z-]+", span):
            assert flag in helps[words[1]], f"{name(page)}: `harness {words[1]}` has no {flag}; found in: {span}"


# ---------------------------------------------------------------- what decisions say


def test_the_dependencies_that_decision_4_lists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (
        (ROOT / "docs/decisions/0004-dependencies.md").read_text(encoding="utf-8").partition("rouge-score is only")[0]
    )
    missing = [Requirement(line).name for line in project["dependencies"] if Requirement(line).name not in text]
    assert not missing, f"docs/decisions/0004-dependencies.md does not name {', '.join(missing)}"


LOADED = """
import contextlib, io, json, sys
from harness.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The packages that a command loads."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_what_commands_load_as_decision_5_says(tmp_path: Path) -> None:
    """Numba in none, once their kernels are on disk; nothing of deep learning, nor MLflow, in any of these."""
    run = ["run", "dataset=embedded", "limit=9", "metrics=[bleu]", "tracking=none"]
    loaded(tmp_path, *run, "system=lead")
    loaded(tmp_path, *run, "system=copy")
    compare = ["compare", "embedded-lead", "embedded-copy"]
    loaded(tmp_path, *compare)
    again = loaded(tmp_path, *run, "system=lead", "output_dir=again")
    commands = [loaded(tmp_path, "--help"), loaded(tmp_path, "runs"), again, loaded(tmp_path, *compare)]
    assert "llvmlite" in again
    assert not {"numba", "torch", "transformers", "datasets", "mlflow"} & set().union(*commands)


# ---------------------------------------------------------------- the site


def test_the_site_is_built_and_needs_no_network(tmp_path: Path) -> None:
    """The strict build, which fails on a link to a page or a heading that does not exist."""
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "harness").symlink_to(ROOT / "harness")
    command = [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {path.relative_to(tmp_path / "site").with_suffix(".md") for path in (tmp_path / "site").rglob("*.html")}
    assert pages >= {page.relative_to(ROOT / "docs") for page in PAGES if page.is_relative_to(ROOT / "docs")}
    loads = re.compile(r"""<(?:script|img|iframe)[^>]+src=["']https?:|<link[^>]+rel=["']?stylesheet[^>]+https?:""")
    for path in (tmp_path / "site").rglob("*.html"):
        assert not loads.search(path.read_text(encoding="utf-8")), f"{path.name} loads something from the network"
    api = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert all(f'id="harness.{public}"' in api for public in ("evaluate", "compare", "types.Metric", "types.System"))


# ---------------------------------------------------------------- the checker itself

TRUE = """
A page.

```json title="my/rows.jsonl"
{"id": "1"}
```

```console
$ cat my/rows.jsonl
{"id": …}
$ printf 'a\\nb\\nc\\n' \\
    | tail -n 2
…
c
$ false
$ echo $?
1
```

```python
number = 6 * 7
```

```python
>>> number, "any text"
(42, …)
```

*Not run here: there is no such program.*

```console
$ harness fly
```

<!-- slow -->

```console
$ echo slow > slow.txt
```
"""


def test_a_true_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    check(page, tmp_path, text=TRUE)
    assert not (tmp_path / "slow.txt").exists(), "a slow block was run without being asked for"
    check(page, tmp_path, slow=True, text=TRUE)
    assert (tmp_path / "slow.txt").exists()


@pytest.mark.parametrize(
    ("true", "false", "problem"),
    [
        ('{"id": …}\n', '{"id": "2"}\n', 'page.md line 8: \\$ cat my/rows.jsonl(.|\n)*-{"id": "2"}\n\\+{"id": "1"}'),
        ("…\nc\n", "…\nd\n", "\\+c"),
        ("…\nc\n", "b\n", "\\+c"),
        ("$ echo $?\n1\n", "", "ends with code 1"),
        ("$ echo $?\n1\n", "$ echo $?\n0\n", "\\+1"),
        ("6 * 7", "6 * unknown", "page.md line 20(.|\n)*NameError"),
        ("(42, …)", "(41, …)", "(?s)Expected:\n    \\(41, …\\)\nGot:\n    \\(42"),
        ("*Not run here: there is no such program.*", "It flies.", "page.md line 31: \\$ harness fly"),
        ("*Not run here: there is no such program.*", "*Not run here*", "page.md line 31: \\$ harness fly"),
        ("$ false\n$ echo $?\n1\n```\n", "```\n\n```bash\nharness compare a b\n```\n", "commands that nobody runs"),
        ("A page.", "```\nmake demo      sets everything up\n```", "page.md line 2: commands that nobody runs"),
    ],
)  # fmt: skip
def test_a_page_that_lies(tmp_path: Path, true: str, false: str, problem: str) -> None:
    assert true in TRUE
    with pytest.raises(Lies, match=problem):
        check(tmp_path / "page.md", tmp_path, text=TRUE.replace(true, false, 1))


def test_a_page_is_rewritten_where_it_lies(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(TRUE.replace("…\nc\n", "…\nd\n"), encoding="utf-8")
    assert rewritten(page, tmp_path) == TRUE.replace("…\nc\n", "b\nc\n")


def test_a_site_with_a_broken_link_fails(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A\n[nowhere](nowhere.md)\n", encoding="utf-8")
    config = (tmp_path / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(config, encoding="utf-8")
    command = [Path(sys.executable).parent / "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode != 0
    assert "nowhere.md" in re.sub("\x1b\\[[0-9;]*m", "", built.stdout + built.stderr)


def test_every_public_name_is_on_the_page_of_the_interface() -> None:
    import harness

    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = {line.rpartition(".")[2] for line in page.splitlines() if line.startswith("::: harness.")}
    assert set(harness.__all__) - {"__version__"} <= shown
