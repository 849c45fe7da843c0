"""What counts as a secret, in fields and in text, and what does not."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness import masking
from harness.cli.hydra.interpolations import origins
from harness.masking import masked, met, redacted, secret_name
from harness.run.config import key


@pytest.fixture(autouse=True)
def nothing_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(met, "_met", set())


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "openai_api_key", "X-Api-Key", "hf_token", "token", "password", "db_passwd", "client_secret",
     "credentials", "Authorization", "auth", "key", "aws_secret_access_key", "passphrase", "Cookie", "accessKey",
     "access-token", "authtoken"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "api_key_env",
        "max_new_tokens",
        "pad_token",
        "pad-token",
        "eos_token",
        "keys_only",
        "tokenize",
        "author",
        "bypass",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not secret_name(name)


def test_fields_of_every_kind() -> None:
    hidden = masked({"password": 12345, "credentials": {"user": "u", "list": ["a"]}, "token": None, "secret": "", "auth": True})  # fmt: skip
    assert hidden == {
        "password": "***", "credentials": {"user": "***", "list": ["***"]}, "token": None, "secret": "", "auth": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET http://me:word@h:5000/x failed", "GET http://***@h:5000/x failed"),
        ("postgresql+psycopg2://u:p@h/db", "postgresql+psycopg2://***@h/db"),
        (r"tracking.uri=http\://me\:word@h", r"tracking.uri=http\://***@h"),
        ("https://h/v1?a=b&api_key=abc&c=d", "https://h/v1?a=b&api_key=***&c=d"),
        ("system.api_key=abc name=x", "system.api_key=*** name=x"),
        ('{"password": "a b", "n": 1}', '{"password": ***, "n": 1}'),
        ("{api_key:abc,url:x}", "{api_key:***,url:x}"),
        ("Authorization: Bearer abcdef.ghi", "Authorization: ***"),
        ("sent Bearer abcdefgh to h", "sent Bearer *** to h"),
        ("token=null password: None", "token=null password: None"),
        ("system.api_key_env=OPENAI_API_KEY is not set", "system.api_key_env=OPENAI_API_KEY is not set"),
        ("12 tokens: 3 more", "12 tokens: 3 more"),
        ("x-api-key: sk-abcd", "x-api-key: ***"),
        ("{api_key: sk-abcd, note: by sk-abcd}", "{api_key: ***, note: by ***}"),
        ("password: wrong, all wrong", "password: ***, all wrong"),
        ("pad-token=<pad> --pad-token x", "pad-token=<pad> --pad-token x"),
        ("[ask,--api-key,abc,--fast]", "[ask,--api-key,***,--fast]"),
        ("['ask', '--token', 'abc']", "['ask', '--token', '***']"),
        ("ask --limit 3 --hf-token abc --fast", "ask --limit 3 --hf-token *** --fast"),
        ("ask --no-auth --fast", "ask --no-auth --fast"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert redacted(text) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://me:pa/ss@host/db", "postgresql://***@host/db"),
        ("postgresql://me:12/34@host/db", "postgresql://***@host/db"),
        ("postgresql://me:p/a@ss@host/db?mail=a@b", "postgresql://***@host/db?mail=a@b"),
        ("postgresql://:p/w@host/db", "postgresql://***@host/db"),
        ("http://me:pa/ss@host/x", "http://***@host/x"),
        ("https://ghp_123@host/x", "https://***@host/x"),
        (r"http\://me\:pa/ss@host", r"http\://***@host"),
        ("http://host/path?mail=a@b", "http://host/path?mail=a@b"),
        ("http://host?mail=a@b", "http://host?mail=a@b"),
        ("http://host/a:b@c", "http://host/a:b@c"),
        ("http://host:8080/x@y", "http://host:8080/x@y"),  # a port: such a URL has no password with a slash
        ("git+https://host:443/x@v1", "git+https://host:443/x@v1"),
        ("sqlite:////home/me:x/a@b.db", "sqlite:////home/me:x/a@b.db"),
        ("hf://datasets/me/x@main", "hf://datasets/me/x@main"),
        ("https://h/?access_token=a&client_secret=b&n=1", "https://h/?access_token=***&client_secret=***&n=1"),
        (
            "https://h/?api-key=a&sig=b&accessToken=c&n=1#token=d",
            "https://h/?api-key=***&sig=***&accessToken=***&n=1#token=***",
        ),
        ("https://h/?X-Amz-Signature=a&subscription-key=b", "https://h/?X-Amz-Signature=***&subscription-key=***"),
        (
            "https://h/?max_tokens=3&pad_token=x&design=y&monkey=z",
            "https://h/?max_tokens=3&pad_token=x&design=y&monkey=z",
        ),
    ],
)
def test_urls(url: str, expected: str) -> None:
    assert masked({"url": url}) == {"url": expected}
    assert redacted(url) == expected


def resolved(raw: dict[str, Any]) -> Any:
    return OmegaConf.to_container(OmegaConf.create(raw), resolve=True)


def sources(raw: dict[str, Any]) -> masking.Origins:
    return origins(OmegaConf.create(raw))


def test_interpolations_of_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "from outside")
    raw = {
        "judge": {
            "api_key": "abc", "size": 3, "host": "${oc.env:PART}", "list": ["x", "${oc.env:PART}"],
            "absolute": "Bearer ${judge.api_key}", "relative": "a ${.api_key}", "up": {"x": "${..api_key}", "y": "${..host}"},
            "bracket": "${judge[api_key]}", "select": "${oc.select:judge.api_key}", "nested": "${${which}.api_key}",
            "through": "${.relative}", "near": "${.host}", "item": "${.list[1]}", "harmless": "${.size} of ${which}",
        },
        "which": "judge", "copy": "${judge}", "credentials": {"user": "me"}, "who": "${credentials.user}",
    }  # fmt: skip
    hidden = masked(resolved(raw), sources(raw))
    judge = dict.fromkeys(raw["judge"], "***")  # type: ignore[attr-defined]
    judge |= {"size": 3, "list": ["x", "***"], "up": {"x": "***", "y": "***"}, "harmless": "3 of judge"}
    assert hidden == {"judge": judge, "which": "judge", "copy": judge, "credentials": {"user": "***"}, "who": "***"}
    assert masked(resolved(raw)["judge"], sources(raw).below("judge")) == judge


def test_what_was_met_is_hidden_in_every_field() -> None:
    config = {"note": "use sk-12345 or secret77", "password": "secret77", "more": [{"x": "a/sk-12345"}], "key": "sk-12345",
              "headers": {"Authorization": "Bearer abcdefgh"}, "about": "abcdefgh"}  # fmt: skip
    assert masked(config) == {"note": "use *** or ***", "password": "***", "more": [{"x": "a/***"}], "key": "***",
                              "headers": {"Authorization": "***"}, "about": "***"}  # fmt: skip
    assert masked({"model": "told by the server: sk-12345"}) == {"model": "told by the server: ***"}


def test_ordinary_words_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path))
    raw = {"_target_": "judges.sk-12345.Judge", "api_key": "ollama", "model": "ollama/x", "key": "sk-12345", "pwd": "10.5",
           "size": "110.55", "data": "${oc.env:FOLDER}", "path": "${oc.env:FOLDER}/x", "uri": f"sqlite:///{tmp_path}/y"}  # fmt: skip
    hidden = masked(resolved(raw), sources(raw))
    assert hidden == {**raw, "api_key": "***", "key": "***", "pwd": "***", "data": "***", "path": "***"}


def test_arguments() -> None:
    command = ["ask", "--api-key", "abcd", "--token=efgh", "--pad-token", "<pad>", "--no-auth", "--fast", "--password", 12345,
               "API_KEY=ijkl", "-H", "Authorization: Bearer mnop", "--limit", "3", "key=3", "https://me:qrst@h"]  # fmt: skip
    assert masked({"command": command})["command"] == [
        "ask", "--api-key", "***", "--token=***", "--pad-token", "<pad>", "--no-auth", "--fast", "--password", "***",
        "API_KEY=***", "-H", "Authorization: ***", "--limit", "3", "key=3", "https://***@h",
    ]  # fmt: skip
    assert redacted("abcd efgh 12345 ijkl mnop") == "*** *** *** *** ***"


def test_the_key_depends_on_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(secret: str, size: int = 1, **more: str) -> str:
        raw = {"metrics": {"judge": {"api_key": secret, "header": "Bearer ${.api_key}", "size": size, "note": f"by {secret}",
                                     "command": ["ask", "--token", secret], **more}}}  # fmt: skip
        masked(resolved(raw), sources(raw))
        return key(resolved(raw), sources(raw))

    first = of("abcd1234")
    assert of("efgh5678") == first
    assert of("abcd1234", size=2) != first
    monkeypatch.setenv("PART", "one-value")
    outside = of("abcd1234", url="${oc.env:PART}")
    monkeypatch.setenv("PART", "another-value")  # which may be the name of a file
    assert of("abcd1234", url="${oc.env:PART}") != outside
    met._met.add("size")
    assert of("abcd1234") == first  # nor on what was met before


def test_another_command_forgets() -> None:
    masked({"key": "sk-12345"})
    masking.forget()
    assert redacted("sk-12345") == "sk-12345"


def test_secrets_that_were_met_are_found_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "inner-value")
    assert redacted("sk-123 and inner-value") == "sk-123 and inner-value"
    raw = {"key": "sk-123", "url": "https://${oc.env:PART}/v1", "short": {"pwd": "abc"}}
    masked(resolved(raw), sources(raw))
    assert redacted("sk-123 and inner-value and abc") == "*** and *** and abc"  # three letters are everywhere


def test_logs_and_streams() -> None:
    masked({"key": "sk-123"})
    stream = io.StringIO()
    logger = logging.getLogger("tests.masking")
    handler = logging.StreamHandler(masking.RedactingStream(stream))
    logger.addHandler(handler)
    try:
        raise ValueError("sk-123")
    except ValueError:
        logger.warning("the key %s", "sk-123", exc_info=True)
    finally:
        logger.removeHandler(handler)
    assert "the key ***" in stream.getvalue() and "ValueError: ***" in stream.getvalue()
    assert "sk-123" not in stream.getvalue().replace('raise ValueError("***")', "")


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "s5")
    raw = {"api_key": "s1", "system": {"hf_token": "s2", "max_new_tokens": 3, "api_key_env": "NAME", "x": "${oc.env:X}"},
           "uri": "http://me:s3@host/x", "list": [{"password": "s4"}]}  # fmt: skip
    assert masked(resolved(raw), sources(raw)) == {
        "api_key": "***",
        "system": {"hf_token": "***", "max_new_tokens": 3, "api_key_env": "NAME", "x": "***"},
        "uri": "http://***@host/x",
        "list": [{"password": "***"}],
    }


def test_more_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", "s4")
    raw = {"env": "${oc.env:X}", "indirect": "${env}", "X-Api-Key": "s1", "pad_token": "<pad>", "auth": "s2",
           "uri": "http://u:p@ss@h/x?token=s3&a=b", "spaced": "${ oc.env:X}"}  # fmt: skip
    hidden = masked(resolved(raw), sources(raw))
    assert hidden == {"spaced": "***", "env": "***", "indirect": "***", "X-Api-Key": "***", "pad_token": "<pad>", "auth": "***",
                     "uri": "http://***@h/x?token=***&a=b"}  # fmt: skip


def test_basic_is_a_word_too() -> None:
    """Of commands and sentences; what follows it in a header is base64."""
    typed = "harness run hydra/sweeper=basic system.temperature=0.5,1.0 with the basic launcher"
    assert redacted(typed) == typed
    assert redacted("Authorization: Basic bWU6cGxhbnRlZA==; the rest") == "Authorization: ***; the rest"
    assert redacted("sent Basic bWU6cGxhbnRlZA== to it") == "sent Basic *** to it"
