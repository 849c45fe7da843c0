"""`harness report` on stored runs: the command, its file, and what it refuses."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import zlib
from pathlib import Path

import pytest

from tests.conftest import called_in, write_files
from tests.report.page.conftest import again
from tests.run.test_runner import PREDICT, Cli


def blocks(page: str) -> dict[str, bytes]:
    parts = re.findall(r'<script type="application/([\w-]+)" id="block-([\w-]+)">(.*?)</script>', page, re.DOTALL)
    return {
        name: text.encode() if kind == "json" else zlib.decompress(base64.b64decode(text)) for kind, name, text in parts
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs."""
    place = write_files(tmp_path_factory.mktemp("runs"))
    for name in ("good", "bad"):
        called_in(place, "run", *PREDICT, f"system.path={name}.jsonl")
    return place


@pytest.fixture
def runs(made: Path, tmp_path: Path, cli: Cli) -> Cli:
    """Commands in a folder that has them."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return cli


def test_the_command_writes_the_page_and_says_where(runs: Cli) -> None:
    called = runs("report", "dev-good", "dev-bad", "--baseline", "dev-bad", "-o", "page.html", "--resamples", "100")
    assert called.code == 0, called.err
    assert called.out.startswith("page.html  ")
    text = Path("page.html").read_text()
    assert "good and bad on dev" in text
    data = blocks(text)
    assert json.loads(data["texts-0"])["id"] == ["a", "b", "c", "d"]
    assert json.loads(data["texts-0"])["fields"]["topic"] == ["pets", "weather", "pets", "weather"]
    assert json.loads(data["outputs-0-0"])["output"][0] == "the cat sat down"
    (folder,) = Path("runs/harness").glob("dev-good-*")
    assert f"harness report {folder.name} " in text
    assert str(Path.cwd()) not in text  # nothing of this machine but what the manifest has
    again = runs("report", "dev-good", "dev-bad", "--baseline", "dev-bad", "-o", "again.html", "--resamples", "100")
    assert again.code == 0
    assert Path("again.html").read_bytes() == Path("page.html").read_bytes()


def test_cells_of_a_sweep_have_a_section_on_their_parameters(files: Path, cli: Cli) -> None:
    swept = cli("run", *PREDICT, "system.path=good.jsonl,bad.jsonl", "--multirun", "postprocess.lowercase=true,false")
    assert swept.code == 0, swept.err
    folders = sorted(map(str, Path("runs/harness").iterdir()))
    called = cli("report", *folders, "-o", "page.html", "--resamples", "100")
    assert called.code == 0, called.err
    section = Path("page.html").read_text().partition('<section id="sweep"')[2].partition('<section id="examples"')[0]
    assert "BLEU by parameter, n = 4 examples" in section
    for text in ("path", "good.jsonl", "bad.jsonl", "lowercase", "Best: ", "corrected for the choice among 4"):
        assert text in section, text
    alone = cli("report", folders[0], "-o", "alone.html", "--resamples", "100")
    assert alone.code == 0 and 'id="sweep"' not in Path("alone.html").read_text()


def test_the_commands_on_the_page_make_it_again(runs: Cli) -> None:
    options = (
        *("--baseline", "dev-bad", "--score", "bleu", "--score", "rouge1", "--by", "topic"),
        *('--title=-Bob\'s page & "more"', "--alignments", "0", "--max-examples", "3", "--test", "randomization"),
        *("--correction", "holm", "--level", "0.9", "--resamples", "100", "--seed", "7"),
    )
    called = runs("report", "dev-good", "dev-bad", *options, "-o", "page.html")
    assert called.code == 0, called.err
    text = Path("page.html").read_text()
    assert "paired randomization test at the level 0.1 (" in text and "Holm" in text
    compare, report = map(shlex.split, again(text))
    assert report[:2] == ["harness", "report"] and report[-2:] == ["-o", "report.html"]
    assert runs(*report[1:]).code == 0
    assert Path("report.html").read_text() == text
    assert compare[:2] == ["harness", "compare"]
    compared = runs(*compare[1:], "--json")
    assert compared.code == 0, compared.err
    answer = json.loads(compared.out)
    expected = {"test": "randomization", "correction": "holm", "level": 0.9, "resamples": 100, "seed": 7}
    assert {name: answer[name] for name in expected} == expected
    assert [row["score"] for row in answer["comparisons"]] == ["bleu", "rouge1"]


def test_what_is_default_is_not_said(runs: Cli) -> None:
    assert runs("report", "dev-good", "dev-bad").code == 0
    folders = [next(Path("runs/harness").glob(f"dev-{name}-*")).name for name in ("good", "bad")]
    assert again(Path("report.html").read_text()) == [
        f"harness compare {' '.join(folders)}",
        f"harness report {' '.join(folders)} -o report.html",
    ]


def test_one_score_only(runs: Cli) -> None:
    assert runs("report", "dev-good", "dev-bad", "--score", "bleu", "--resamples", "100").code == 0
    (group,) = json.loads(blocks(Path("report.html").read_text())["index"])["groups"]
    names = [score["name"] for score in group["scores"]]
    assert names[0] == "bleu" and all(name.startswith("bleu") for name in names)
    assert not set(group["fields"]) - {"topic"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("dev-good", "nothing"), 1, "there is no run 'nothing'"),
        (("dev-good", "--by", "topics"), 1, "--by topics: no run has that field (did you mean 'topic'?)"),
        (("dev-good", "-o", "no/where.html"), 1, "there is no folder no"),
        (("dev-good", "dev-bad", "--score", "chrf"), 1, "chrf"),
        (("dev-good", "--correction", "tukey"), 2, "invalid choice: 'tukey'"),
        ((), 2, "required: RUN"),
    ],
)
def test_mistakes_are_one_message(runs: Cli, arguments: tuple[str, ...], code: int, message: str) -> None:
    called = runs("report", *arguments)
    assert called.code == code
    assert message in called.err and "Traceback" not in called.err


def test_a_planted_secret_is_not_in_the_page(files: Path, cli: Cli) -> None:
    secret = ["+system.api_key=PLANTED"]
    (files / "my.py").write_text(
        "from harness.systems.predictions import Predictions\n"
        "class Keyed(Predictions):\n"
        "    def __init__(self, path, api_key=None, **more): super().__init__(path, **more)\n"
    )
    called = cli("run", *PREDICT, "system._target_=my.Keyed", "system.path=good.jsonl", *secret)
    assert called.code == 0, called.err
    assert cli("report", "dev-good", "--resamples", "50").code == 0
    text = Path("report.html").read_text()
    assert "api_key" in text and "PLANTED" not in text
    assert not any(b"PLANTED" in content for content in blocks(text).values())
