"""What counts as a secret, in fields and in text, and what does not."""

from __future__ import annotations

import io
import logging

import pytest

from harness import masking
from harness.masking import masked, redacted, secret_name


@pytest.fixture(autouse=True)
def nothing_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_met", set())


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "openai_api_key", "X-Api-Key", "hf_token", "token", "password", "db_passwd", "client_secret",
     "credentials", "Authorization", "auth", "key", "aws_secret_access_key", "passphrase", "Cookie", "accessKey"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert secret_name(name)


@pytest.mark.parametrize(
    "name", ["api_key_env", "max_new_tokens", "pad_token", "eos_token", "keys_only", "tokenize", "author", "bypass"]
)
def test_names_of_other_things(name: str) -> None:
    assert not secret_name(name)


def test_fields_of_every_kind() -> None:
    found = masked({"password": 12345, "credentials": {"user": "u", "list": ["a"]}, "token": None, "secret": "", "auth": True})  # fmt: skip
    assert found == {
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
    ],
)
def test_text(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_secrets_that_were_met_are_found_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PART", "inner-value")
    assert redacted("sk-123 and inner-value") == "sk-123 and inner-value"
    raw = {"key": "sk-123", "url": "https://${oc.env:PART}/v1", "short": {"pwd": "abc"}}
    masked({**raw, "url": "https://inner-value/v1"}, raw)
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
