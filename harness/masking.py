"""Secrets, found and replaced by `***` before anything is written, printed or logged.

`masked` is for what has fields (a config, a manifest): values of fields named like a secret, credentials inside URLs,
values from the environment. `redacted` is for text that was made elsewhere (the error of a library, a log line, a
command as it was typed): it looks for the same, and for every secret that `masked` has met.

>>> masked({"api_key": "sk-12", "base_url": "https://me:word@host/v1"})
{'api_key': '***', 'base_url': 'https://***@host/v1'}
>>> redacted("POST https://me:word@host/v1?token=abc failed")
'POST https://***@host/v1?token=*** failed'
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Any, TextIO

MASK = "***"
_NAMES = (
    r"api_?keys?|access_?keys?|secret_?keys?|private_?keys?|password|passwd|passphrase|pwd|secrets?|credentials?"
    r"|authorization|auth_header|bearer|cookie"
)
_TOKEN = r"(?<!pad_)(?<!bos_)(?<!eos_)(?<!unk_)(?<!sep_)(?<!cls_)(?<!mask_)token"  # those of tokenizers are no secrets
_SECRET = re.compile(rf"^key$|(?:^|_)(?:{_NAMES}|pass|auth|{_TOKEN})$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(\w+\\?://)[^/\s]+@")  # a backslash: as Hydra quotes in overrides
_QUERY = re.compile(r"([?&](?:api_?key|key|token|password|secret|sig|signature)\\?=)[^&\s'\"]+", re.IGNORECASE)
_PAIR = re.compile(
    rf"((?<![A-Za-z])(?:{_NAMES}|{_TOKEN})['\"]?\s*\\?[=:]\s*)"
    r"((?:(?:Bearer|Basic)\\? )?(?:\"[^\"]*\"|'[^']*'|[^\s,;&}\]'\"]+))",
    re.IGNORECASE,
)
_HEADER = re.compile(r"\b(Bearer|Basic)\\? +[\w.~+/=-]{6,}", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\$\{\s*oc\.env\s*:\s*([^,}\s]*)")
_REFERENCE = re.compile(r"\$\{\s*([\w.]+)\s*\}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SHORTEST = 4
"""Shorter values are not looked for in text: they would be found everywhere."""
_met: set[str] = set()


def masked(resolved: Any, raw: Any = None, root: Any = None) -> Any:
    """A copy of the config without secrets; `raw` is the same config with its interpolations unresolved."""
    root = raw if root is None else root
    if isinstance(resolved, Mapping):
        inner = raw if isinstance(raw, Mapping) else {}
        return {k: _hidden(v) if secret_name(str(k)) else masked(v, inner.get(k), root) for k, v in resolved.items()}
    if isinstance(resolved, list):
        parts = raw if isinstance(raw, list) and len(raw) == len(resolved) else [None] * len(resolved)
        return [masked(v, r, root) for v, r in zip(resolved, parts, strict=True)]
    if isinstance(raw, str) and _from_environment(raw, root):
        return _hidden(resolved)
    return _in_urls(resolved) if isinstance(resolved, str) else resolved


def secret_name(field: str) -> bool:
    """Whether a field is named like a secret."""
    return _SECRET.search(_CAMEL.sub("_", field.replace("-", "_"))) is not None


def redacted(text: object) -> str:
    """A text without credentials in URLs, without `password=…` and the like, and without secrets that were met."""
    found = _in_urls(_HEADER.sub(rf"\1 {MASK}", _PAIR.sub(_pair, str(text))))
    for value in sorted(_met, key=len, reverse=True):
        found = found.replace(value, MASK)
    return found


class RedactingFormatter(logging.Formatter):
    """Lines of a log without secrets, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))


class RedactingStream:
    """A stream for text without secrets, whoever writes to it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return int(self._stream.write(redacted(text)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def log_to(stream: TextIO) -> None:
    """Warnings of all loggers go there, a line each."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(RedactingFormatter("harness: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _hidden(value: Any) -> Any:
    """`***` for each scalar, remembered for `redacted`; what says nothing (null, true) stays."""
    if isinstance(value, Mapping):
        return {k: _hidden(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_hidden(v) for v in value]
    if value is None or isinstance(value, bool) or value in ("", MASK, "???"):
        return value
    _meet(str(value))
    return MASK


def _meet(value: str) -> None:
    if len(value) >= SHORTEST:
        _met.add(value)


def _pair(found: re.Match[str]) -> str:
    return found[0] if found[2].strip("'\"") in ("null", "None", "true", "false", MASK, "") else found[1] + MASK


def _in_urls(text: str) -> str:
    return _QUERY.sub(rf"\1{MASK}", _CREDENTIALS.sub(rf"\1{MASK}@", text))


def _from_environment(raw: str, root: Any, depth: int = 8) -> bool:
    """Whether an interpolation ends in an environment variable, also by way of other keys."""
    names = _ENVIRONMENT.findall(raw)
    for name in names:
        _meet(os.environ.get(name, ""))
    if names:
        return True
    for name in _REFERENCE.findall(raw) if depth else ():
        value = root
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and _from_environment(value, root, depth - 1):
            return True
    return False
