"""WMT sets through sacreBLEU: raw files placed where its downloader leaves them, and no network where they are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from harness.datasets.wmt import WmtDataset
from harness.types import HarnessError

XML = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="wmttest2022.de-en">
  <collection id="general">
    <doc id="paper.1" origlang="de">
      <src lang="de"><p><seg id="1">Guten  Tag.</seg><seg id="2">Wie geht es?</seg></p></src>
      <ref lang="en" translator="A"><p><seg id="1">Good day.</seg><seg id="2">How are you?</seg></p></ref>
      <ref lang="en" translator="B"><p><seg id="1">Hello.</seg><seg id="2">How is it going?</seg></p></ref>
    </doc>
    <doc id="chat.2" origlang="en">
      <src lang="de"><p><seg id="1">Danke.</seg></p></src>
      <ref lang="en" translator="A"><p><seg id="1">Thanks.</seg></p></ref>
      <ref lang="en" translator="B"><p><seg id="1">Thank you.</seg></p></ref>
    </doc>
  </collection>
</dataset>
"""
SGM = '<{kind}set setid="newstest2017" srclang="any"{more}>\n<doc docid="{doc}" genre="news" origlang="de">\n<p>\n{segs}\n</p>\n</doc>\n</{kind}set>\n'


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: sacreBLEU reads the environment variable when it is imported. Its proxy is a closed port."""
    environment = os.environ | {
        "SACREBLEU": str(folder / "sets"),
        "https_proxy": "http://127.0.0.1:1",
        "http_proxy": "http://127.0.0.1:1",
    }
    return subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)


def read(folder: Path, testset: str, langpair: str) -> list[list[object]]:
    """[source, references, metadata] of each example."""
    done = run(
        folder, "-c", f"import json; from harness.datasets.wmt import WmtDataset; data = WmtDataset('{testset}', '{langpair}'); "
        "print(json.dumps([[e.source, e.references, e.metadata] for e in data.examples()]))",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows: list[list[object]] = json.loads(done.stdout)
    return rows


def place(folder: Path, path: str, content: str) -> None:
    (folder / "sets" / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / "sets" / path).write_text(content)


def test_a_set_in_xml(tmp_path: Path) -> None:
    place(tmp_path, "wmt22/raw/wmt22.v1.1.tar.gz", "what was downloaded and unpacked")
    place(tmp_path, "wmt22/raw/wmt22-news-systems-1.1/xml/wmttest2022.de-en.all.xml", XML)
    (tmp_path / "out.txt").write_text("Good day.\nHow are you?\nThanks.\n")
    done = run(tmp_path, "-m", "harness", "run", "dataset=wmt", "dataset.testset=wmt22", "dataset.langpair=de-en",
               "dataset.cluster=docid", "dataset.filter='origlang != \"cs\"'", "system=predictions", "system.path=out.txt",
               "metrics=bleu", "tracking=none", "stats.resamples=10", "progress=false", "output_dir=out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "out" / "examples.parquet")
    assert table["source"].tolist() == ["Guten Tag.", "Wie geht es?", "Danke."]  # as sacreBLEU cleans it
    assert [list(r) for r in table["references"]] == [["Good day."], ["How are you?"], ["Thanks."]]  # its choice: A
    assert table["docid"].tolist() == ["paper.1", "paper.1", "chat.2"]
    assert table["origlang"].tolist() == ["de", "de", "en"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["name"], manifest["dataset"]["cluster"]) == ("wmt22-de-en-out", "docid")
    assert set(manifest["dataset"]["about"]) == {"sacrebleu", "sha256"}


def test_an_older_set_in_sgml(tmp_path: Path) -> None:
    segs = {"src": ["Hallo Welt.", "Ja."], "ref": ["Hello world.", "Yes."]}
    place(tmp_path, "wmt17/raw/wmt17.test.tgz", "what was downloaded and unpacked")
    for kind, language in (("src", "de"), ("ref", "en")):
        lines = "\n".join(f'<seg id="{i}">{text}</seg>' for i, text in enumerate(segs[kind], start=1))
        content = SGM.format(kind=kind, doc="a.1", segs=lines, more=' trglang="en"' if kind == "ref" else "")
        place(tmp_path, f"wmt17/raw/test/newstest2017-deen-{kind}.{language}.sgm", content)
    metadata = {"docid": "a.1", "origlang": "de", "genre": "news"}
    assert read(tmp_path, "wmt17", "de-en") == [
        ["Hallo Welt.", ["Hello world."], metadata],
        ["Ja.", ["Yes."], metadata],
    ]


def test_no_network(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "harness", "run", "dataset=wmt", "dataset.testset=wmt21", "dataset.langpair=de-en")
    assert done.returncode == 1
    assert done.stderr.startswith("harness: wmt21 de-en is not available (")
    assert f"expected a network on first use, or sacreBLEU's files of the set in {tmp_path / 'sets'}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("testset", "langpair", "expected"),
    [
        (
            "wmt222",
            "de-en",
            "dataset.testset=wmt222 is not known to sacreBLEU (did you mean 'wmt22'?); expected one of",
        ),
        ("wmt22", "de-xx", "dataset.langpair of wmt22=de-xx is not known to sacreBLEU"),
    ],
)
def test_unknown_names(testset: str, langpair: str, expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        list(WmtDataset(testset, langpair).examples())
    assert expected in str(raised.value)
