"""Secrets planted in a config under every name and in every form, then looked for in every file of the run, in all that
is printed and in every row of every table of the store; and what is no secret, which must stay. A case a line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from harness.cli.hydra.interpolations import origins
from harness.masking import forget, keyed, masked, redacted, secret_name
from tests.conftest import Called
from tests.hostile import bounded
from tests.tracking.test_planted_secrets import rows_of

Cli = Callable[..., Called]
HIDDEN_NAMES = [
    "openai_key",
    "signing_key",
    "Ocp-Apim-Subscription-Key",
    "my_pw",
    "db_pw",
    "pw",
    "password",
    "passwd",
    "PGPASSWORD",
    "passphrase",
    "user_pass",
    "api_key",
    "apiKey",
    "apikey",
    "openaikey",
    "OPENAI_API_KEY",
    "x-functions-key",
    "encryption_key",
    "ssh_key",
    "service_account_key",
    "license_key",
    "secret",
    "client_secret",
    "clientsecret",
    "secret_key",
    "secretkey",
    "webhook_secret",
    "secret_value",
    "aws_secret_access_key",
    "accessKey",
    "token",
    "hf_token",
    "hftoken",
    "github_token",
    "X-Amz-Security-Token",
    "PRIVATE-TOKEN",
    "refresh_token",
    "authtoken",
    "session_token",
    "auth",
    "X-Auth",
    "Authorization",
    "Proxy-Authorization",
    "auth_header",
    "bearer",
    "Cookie",
    "Set-Cookie",
    "credentials",
    "creds",
    "jwt",
    "api_key_prod",
    "api_key_2",
    "password1",
    "api_keys",
    "access_tokens",
]
SHOWN_NAMES = [
    "max_tokens",
    "max_new_tokens",
    "min_tokens",
    "tokens",
    "tokenize",
    "tokenizer",
    "tokenizer_name",
    "pad_token",
    "eos_token",
    "bos_token",
    "unk_token",
    "image_token",
    "stop_token",
    "output_tokens",
    "api_key_env",
    "monkey",
    "turkey",
    "hockey",
    "keyboard",
    "keys_only",
    "keyword",
    "keywords",
    "sort_key",
    "primary_key",
    "foreign_key",
    "public_key",
    "cache_key",
    "dataset_key",
    "text_key",
    "label_key",
    "id_key",
    "column_key",
    "s3_key",
    "author",
    "authors",
    "bypass",
    "compass",
    "passage",
    "passages",
    "first_pass",
    "forward_pass",
    "secretary",
    "signature",
    "password_field",
    "bearing",
    "basic",
    "model",
    "name",
    "prompt",
    "path",
    "revision",
    "key_columns",
    "key_by",
    "compare",
    "pass_rate",
    "auth_url",
]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAplanted0\nq1w2e3r4t5y6u7i8o9p0planted\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJlcGxhbnRlZA"
VALUES = [
    # (value, what must not be seen of it, what is shown)
    ("Bearer plantedplanted", "plantedplanted", "Bearer ***"),
    ("sends Bearer planted123456", "planted123456", "sends Bearer ***"),
    ("Basic bWU6cGxhbnRlZA==", "bWU6cGxhbnRlZA==", "Basic ***"),
    ("password=planted", "planted", "password=***"),
    ("Server=h;User Id=me;Password=planted1;Port=1", "planted1", "Server=h;User Id=me;Password=***;Port=1"),
    ("AccountName=a;AccountKey=cGxhbnRlZA==;Suffix=x", "cGxhbnRlZA==", "AccountName=a;AccountKey=***;Suffix=x"),
    ("X-Api-Key: planted12345", "planted12345", "X-Api-Key: ***"),
    ('{"api_key": "planted", "n": 1}', "planted", '{"api_key": ***, "n": 1}'),
    ("curl --token=planted77 https://h", "planted77", "curl --token=*** https://h"),
    ("sk-planted0123456789", "planted0123456789", "***"),
    ("uses sk-proj-Planted0123456789 here", "Planted0123456789", "uses *** here"),
    ("sk-ant-api03-planted0123456789", "planted0123456789", "***"),
    ("ghp_planted0123456789planted0123456789", "planted0123456789", "***"),
    ("github_pat_planted0123456789", "planted0123456789", "***"),
    ("glpat-planted0123456789abc", "planted0123456789abc", "***"),
    ("hf_planted0123456789planted0123456", "planted0123456789", "***"),
    ("AKIAPLANTED012345678", "PLANTED012345678", "***"),
    ("AIzaPlanted0123456789Planted012345678901", "Planted0123456789", "***"),
    ("xoxb-0123456789-planted0123", "planted0123", "***"),
    ("https://hooks.slack.com/services/T0PLANTED/B1/planted", "planted", "https://hooks.slack.com/services/***"),
    ("npm_planted0123456789planted0123456789", "planted0123456789", "***"),
    ("sk_live_planted0123456789", "planted0123456789", "***"),
    ("gsk_planted0123456789planted01234567", "planted0123456789", "***"),
    ("SG.planted0123456789.planted0123456789planted", "planted0123456789", "***"),
    ("dapi0123456789abcdef0123456789abcdef", "0123456789abcdef", "***"),
    (JWT, "eyJzdWIiOiJwbGFudGVkIn0", "***"),
    (PEM, "planted", "***"),
    (f"key:\n{PEM}\nend", "planted", "key:\n***\nend"),
    ("https://me:planted@host/v1", "planted", "https://***@host/v1"),
    ("https:/me:planted@host/v1", "planted", "https:/***@host/v1"),
    ("postgresql://me:pla/nted@host/db", "nted", "postgresql://***@host/db"),
    ("https://h/x?subscription-key=planted&n=1", "planted", "https://h/x?subscription-key=***&n=1"),
]  # fmt: skip
SHOWN_VALUES = [
    "0" * 64, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "6f28062", "d41d8cd98f00b204e9800998ecf8427e", "123e4567-e89b-12d3-a456-426614174000", "sha256:9f86d081884c7d659a2feaa0c55ad015",
    "meta-llama/Llama-3.1-8B-Instruct", "gpt-4o-2024-08-06", "HuggingFaceTB/SmolLM2-135M-Instruct@12fd25f77366fa6b3b4b768ec3050bf6",
    "sk-learn", "sk-SK", "sk-learn-pipelines-and-more", "hf_transformers_model_name", "task-0123456789abcdef",
    "/data/runs/2024-01-01T12:00:00/out.jsonl", "hf://datasets/me/x@main", "http://localhost:8000/v1", "git@github.com:me/x.git",
    "s3://bucket/sort_key=1/part-0000", "https://h/x?max_tokens=3&pad_token=x&sort_key=y", "nrefs:1|case:mixed|tok:13a|version:2.6.0",
    "Write in basic English.", "The bearer document says so.", "Bearer of bad news", "Basic HTML5 and Python3 skills",
    "Secret: never lie.\n\n{{ source }}", "The password is {{ password }}.", "password={{ source }}", "Token: {{ token }}",
    "Answer with yes or no: is this a secret?", "key=3", "token=x", "tokens: 128", "a=b", "max_tokens=12", "domain == 'news'",
    "{{ source }}\nAnswer:", "Hola: ¿qué tal?", "eyJ is how they begin", "AKIA", "1234567890:abc",
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_met() -> None:
    forget()


@pytest.mark.parametrize("name", HIDDEN_NAMES)
def test_names_of_secrets(name: str) -> None:
    assert secret_name(name)
    assert masked({"x": {name: "planted"}}) == {"x": {name: "***"}}
    assert keyed({name: "planted"}) == keyed({name: "another"})


@pytest.mark.parametrize("name", SHOWN_NAMES)
def test_names_of_other_things(name: str) -> None:
    assert not secret_name(name)
    assert masked({"x": {name: "question_id"}}) == {"x": {name: "question_id"}}
    assert keyed({name: "a"}) != keyed({name: "b"})


@pytest.mark.parametrize("value", ["question_id", "id", 3, "0" * 64])
def test_a_key_that_names_a_column_stays(value: Any) -> None:
    assert masked({"key": value}) == {"key": value}
    assert masked({"key": "sk-12"}) == masked({"key": "Hunter2"}) == {"key": "***"}


@pytest.mark.parametrize(("value", "part", "shown"), VALUES, ids=lambda text: text[:20])
def test_values_that_are_secrets(value: str, part: str, shown: str) -> None:
    assert part in value
    assert masked({"note": value}) == {"note": shown}
    assert masked({"list": ["x", value]}) == {"list": ["x", shown]}
    assert part not in redacted(f"it failed for {value}, which is wrong")
    forget()
    assert part not in redacted(f"it failed for {value}")
    assert keyed({"note": value}) == keyed({"note": value.replace(part, part[::-1])}) or "Basic" in value


@pytest.mark.parametrize("value", SHOWN_VALUES)
def test_values_that_are_none(value: str) -> None:
    assert masked({"note": value, "list": [value]}) == {"note": value, "list": [value]}


def test_a_secret_is_found_as_others_write_it() -> None:
    masked({"password": 'pl"anté\n&d1'})
    assert "pl" not in redacted(r"JSON pl\"ant\u00e9\n&d1, a URL pl%22ant%C3%A9%0A%26d1, repr pl" + r'"anté\n&d1')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("${judge.openai_key}", "***"), ("Bearer ${.openai_key}", "***"), ("${oc.select:judge.openai_key}", "***"),
        ("${${which}.openai_key}", "***"), ("${judge.far}", "***"), ("${oc.env:PLANTED}", "***"), ("x${oc.env:PLANTED}", "***"),
        ("${judge.out}", "***"), ("${oc.dict.values:judge.headers}", ["***", "***"]), ("${judge.headers}", {"Cookie": "***", "Accept": "text/plain"}),
        ("${plain}", "shown"), ("${oc.select:plain}/${which}", "shown/judge"), ("${oc.decode:'[1,2]'}", [1, 2]),
    ],
)  # fmt: skip
def test_interpolations(text: str, shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "abc")
    config = OmegaConf.create(
        {
            "which": "judge", "plain": "shown",
            "judge": {
                "openai_key": "xyz", "near": "${.openai_key}", "far": "${judge.near}", "out": "${oc.env:PLANTED}",
                "headers": {"Cookie": "crumbs1", "Accept": "text/plain"}, "made": text,
            },
        }
    )  # fmt: skip
    resolved = OmegaConf.to_container(config, resolve=True)
    assert masked(resolved, origins(config))["judge"]["made"] == shown


# ---------------------------------------------------------------- in a run

CODE = """
import logging
from harness.types import HarnessError
from harness.testing import WordCount

class Judge(WordCount):
    name = "judge"
    def __init__(self, **options):
        self._options, self.keep = options, 1
        key = options["by_name"]["openai_key"]  # of a stored run, what was stored
        assert key == "***" or key.startswith("PLANTED"), "real values must come here"
    def statistics(self, batch):
        logging.getLogger("judge").warning("asked with %s", self._options)
        if self._options.get("fail") == "mendable":
            raise HarnessError(f"401 for {self._options}")
        if self._options.get("fail"):
            raise ValueError(f"401 for {self._options}")
        return super().statistics(batch)

def answer(example):
    if example["id"] == "a":
        raise ValueError(f"refused: openai_key=PLANTED, sk-PLANTED0123456789, https://me:PLANTED@host and Bearer PLANTED12")
    return "it is raining"
"""
PLANTED_VALUES = [value for value, _, _ in VALUES]
PARTS = sorted({part for _, part, _ in VALUES if len(part) >= 8})
RUN = ("run", "--config-dir", "conf", "experiment=hiding", "stats.resamples=20")


def plant(folder: Path) -> None:
    (folder / "judging.py").write_text(CODE)
    names = {name: f"PLANTED{i:03}x" for i, name in enumerate(HIDDEN_NAMES)}
    judge = {"_target_": "judging.Judge", "by_name": names, "by_value": PLANTED_VALUES, "sent": "${.by_name.my_pw}!"}
    judge |= {"max_tokens": 77, "tokenizer": "my-tokenizer", "sort_key": "question_id"}
    config = {
        "defaults": [{"override /metrics": "bleu"}, {"override /dataset": "file"}, {"override /system": "python"}],
        "dataset": {"path": "dev.jsonl"}, "system": {"function": "judging.py:answer"}, "metrics": {"judge": judge},
    }  # fmt: skip
    (folder / "conf" / "experiment").mkdir(parents=True)
    text = yaml.safe_dump(config, sort_keys=False)
    (folder / "conf" / "experiment" / "hiding.yaml").write_text(f"# @package _global_\n{text}")


def leaks(text: str) -> list[str]:
    """What stands around each secret."""
    return [text[max(0, i - 60) : i + 60] for part in ("PLANTED", *PARTS) if (i := text.find(part)) >= 0]


@pytest.mark.slow
def test_a_planted_secret_is_nowhere(files: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(files)
    uri = f"sqlite:///{files}/runs/mlflow.db"
    folder = "runs/harness/dev-hiding"  # a name that, before a random id, is no secret (planted1)
    calls = [
        (0, *RUN, f"tracking.uri={uri}", f"output_dir={folder}", "hydra.output_subdir=.hydra"),
        (0, *RUN, "--cfg", "job"),
        (0, *RUN, "--cfg", "job", "--resolve"),
        (0, *RUN, "--cfg", "all"),
        (0, *RUN, "--cfg", "job", "--package", "metrics.judge.by_name"),
        (0, *RUN, "--cfg", "job", "--package", "metrics.judge.by_name.my_pw"),
        (0, *RUN, "--info", "all"),
        (0, *RUN, "--info", "config"),
        (0, *RUN, "--help"),
        (0, *RUN, "--dry-run"),
        (0, *RUN, "--multirun", "limit=2,3", f"tracking.uri={uri}"),
        (1, *RUN, "+metrics.judge.fail=mendable", "tracking=none"),
        (1, *RUN, "+nothing.openai_key=PLANTED1"),
        (1, *RUN, "limit=Bearer PLANTED12"),
        (0, "score", folder, "~metrics.judge", "metrics=chrf"),
        (0, "report", folder, "-o", "report.html"),
        (0, "runs", "--json"),
        (0, "sync", folder, "--uri", uri),
    ]  # fmt: skip
    for code, *call in calls:
        called = cli(*call)
        assert leaks(called.out + called.err) == [], (call, called.out[-3000:], called.err[-3000:])
        assert called.code == code, (call, called.out, called.err)
        if "job" in call and "--package" not in call:
            assert "max_tokens: 77" in called.out and "tokenizer: my-tokenizer" in called.out
    own = files / "conf"
    paths = [
        path
        for path in files.rglob("*")
        if path.is_file() and own not in path.parents and path.stem.split(".")[0] != "judging"
    ]
    assert len(paths) > 15
    assert [path for path in paths if any(part.encode() in path.read_bytes() for part in ("PLANTED", *PARTS))] == []
    rows = list(rows_of(uri))
    assert {"params", "tags", "metrics"} <= {name for name, _ in rows}
    assert [(name, row) for name, row in rows if leaks(str(row))] == []
    stored = yaml.safe_load((Path(folder) / "config.yaml").read_text())["metrics"]["judge"]
    assert stored["by_name"] == dict.fromkeys(HIDDEN_NAMES, "***")
    assert (stored["max_tokens"], stored["tokenizer"], stored["sort_key"]) == (77, "my-tokenizer", "question_id")
    assert stored["by_value"] == [shown for _, _, shown in VALUES]


@pytest.mark.parametrize(("words", "environment"), [(("--debug",), {}), ((), {"HYDRA_FULL_ERROR": "1"}), ((), {})])
@pytest.mark.parametrize("fail", ["mendable", "badly"])
def test_tracebacks(words: tuple[str, ...], environment: dict[str, str], fail: str, files: Path) -> None:
    plant(files)
    done = subprocess.run(
        [sys.executable, "-m", "harness", *RUN, f"+metrics.judge.fail={fail}", "tracking=none", *words],
        cwd=files, env={**os.environ, "PYTHONPATH": str(bounded.ROOT), **environment}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and "401 for" in done.stderr
    shown = done.stderr.partition("shown once")[2].count("Traceback")  # the first is that of the failed example
    assert shown == (2 if words or environment or fail == "badly" else 1)
    assert leaks(done.stdout + done.stderr) == [], done.stderr


URL = "https://me:PLANTED77@host"
MESSAGES = [
    ("run", "dataset=file", f"dataset.path={URL}/x.jsonl", "tracking=none"),
    ("run", "system=predictions", f"system.path={URL}/x.jsonl", "tracking=none"),
    ("run", "stop.score=bleu", f"stop.baseline={URL}", "tracking=none"),
    ("run", f"dataset.filter={URL}", "tracking=none"),
    ("run", f"limit={URL}", "tracking=none"),
    ("run", f"tracking.uri={URL}/x/y"),
    ("compare", URL, URL),
    ("score", URL),
    ("runs", "--in", URL),
    ("sync", URL),
    ("ui", "--uri", URL),
    ("report", URL),
    ("table", URL, "-o", f"{URL}/x.md"),
]


@pytest.mark.slow
@pytest.mark.parametrize("call", MESSAGES, ids=lambda call: " ".join(call)[:40])
def test_a_message_about_a_url_shows_no_password(call: tuple[str, ...], cli: Cli) -> None:
    called = cli(*call)
    assert "host" in called.out + called.err
    assert "PLANTED77" not in called.out + called.err


def test_a_name_with_credentials_is_in_no_file(files: Path, cli: Cli) -> None:
    words = (
        "dataset=file",
        "dataset.path=dev.jsonl",
        "system=lead",
        "metrics=bleu",
        "stats.resamples=20",
        "tracking=none",
    )
    called = cli("run", *words, f"name={URL}", "output_dir=out")
    assert called.code == 0 and "PLANTED77" not in called.out + called.err
    assert [path for path in Path("out").rglob("*") if path.is_file() and b"PLANTED77" in path.read_bytes()] == []
