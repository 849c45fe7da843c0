"""Secrets, found and replaced by `***` before anything is written, printed or logged.

`masked` is for what has fields (a config, a manifest): values of fields named like a secret, what interpolations make
of them, arguments after flags named like one, credentials inside URLs, values from the environment, and each of these
wherever else it stands. `redacted` is for text that was made elsewhere (the error of a library, a log line, a command
as it was typed): it looks for the same, and for every secret that `masked` has met.

>>> masked({"api_key": "sk-12", "base_url": "https://me:word@host/v1", "command": ["ask", "--token", "abcd"]})
{'api_key': '***', 'base_url': 'https://***@host/v1', 'command': ['ask', '--token', '***']}
>>> redacted("POST https://me:word@host/v1?token=abc failed")
'POST https://***@host/v1?token=*** failed'
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

MASK = "***"
_NAMES = (
    r"api[-_]?keys?|access[-_]?keys?|secret[-_]?keys?|private[-_]?keys?|password|passwd|passphrase|pwd|secrets?"
    r"|credentials?|(?:access|api|auth)token|clientsecret|authorization|auth[-_]header|bearer|cookie"
)
_TOKEN = "".join(rf"(?<!{kind}[-_])" for kind in ("pad", "bos", "eos", "unk", "sep", "cls", "mask")) + "token"
"""Those of tokenizers are no secrets."""
_SECRET = re.compile(rf"^key$|(?:^|_)(?:{_NAMES}|pass|auth|{_TOKEN})$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(\w+\\?://)[^/?#\s]+@")  # a backslash: as Hydra quotes in overrides
_SLASHED = re.compile(  # a password with a slash; `http://host:8080/x@y` is a port and a path
    r"\b(?!(?:https?|wss?)\\?://[^\s@/:]*:\d{1,5}\b)(\w+\\?://)[^\s@/:]*:[^\s@'\"<>]*@(?:[^/?#\s@]*@)*", re.IGNORECASE
)
_QUERY = re.compile(r"([?&#])([\w.-]+)(\\?=)[^&#\s'\"]+")
_QUERY_NAME = re.compile(r"(?:^|[._-])(?:key|sig|signature)$", re.IGNORECASE)
_PAIR = re.compile(
    rf"((?<![A-Za-z])(?:{_NAMES}|{_TOKEN})['\"]?\s*\\?[=:]\s*)"
    r"((?:(?:Bearer|Basic)\\? )?(?:\"[^\"]*\"|'[^']*'|[^\s,;&}\]'\"]+))",
    re.IGNORECASE,
)
_HEADER = re.compile(r"\b(Bearer|Basic)\\? +[\w.~+/=-]{6,}", re.IGNORECASE)
_SCHEME = re.compile(r"^(?:Bearer|Basic) +", re.IGNORECASE)
_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")
_ARGUMENT = re.compile(  # without a dash `key=3` or `token=x` is about a field of the data
    r"((?:--?|(?!(?:key|token|pass)\b))([A-Za-z][\w.-]*)(?:=|: *))(.+)", re.DOTALL | re.IGNORECASE
)
_FLAG_IN_TEXT = re.compile(r"(?<![\w-])(--?([A-Za-z][\w.-]*)['\"]?(?:\s*,\s*|\s+)['\"]?)(?!-)[^\s,'\"\]]+")
_INTERPOLATION = re.compile(r"\$\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_REFERENCE = re.compile(r"\$\{\s*([^\s:{}]+)\s*\}")
_REFERRED = re.compile(r"(?:\.*[\w-]|\.*\[['\"]?[\w-])[\w.\-\[\]'\"]*")
_ENVIRONMENT = re.compile(r"\$\{\s*oc\.env\s*:\s*([^,}\s]*)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SHORTEST = 4
"""Shorter values are not looked for in text: they would be found everywhere."""
DEEPEST = 8
"""References that are followed one after another."""
Place = tuple[str, ...]
"""The names that lead to a value of a config, from the top."""
_met: set[str] = set()


def masked(resolved: Any, raw: Any = None, root: Any = None, at: Place = ()) -> Any:
    """A copy of the config without secrets; `raw` is the same config with its interpolations unresolved.

    Of a part of a config, `root` is the whole, unresolved, and `at` the names that lead to the part.
    """
    found = _Fields(raw if root is None else root).masked(resolved, raw, at)
    return _without(found, _met)


def keyed(resolved: Any, raw: Any = None) -> Any:
    """What of a config tells it from others: without secrets, but with values from the environment.

    It depends on nothing else that this process has met.
    """
    fields = _Fields(raw, environment=False)
    return _without(fields.masked(resolved, raw), fields.met)


def secret_name(field: str) -> bool:
    """Whether a field is named like a secret."""
    return _SECRET.search(_CAMEL.sub("_", field.replace("-", "_"))) is not None


def redacted(text: object) -> str:
    """A text without credentials in URLs, without `password=…` and the like, and without secrets that were met."""
    found = _FLAG_IN_TEXT.sub(lambda flag: flag[1] + MASK if secret_name(flag[2]) else flag[0], str(text))
    named = {_SCHEME.sub("", pair[2].strip("'\"")) for pair in _PAIR.finditer(found) if _pair(pair) != pair[0]}
    found = _in_urls(_HEADER.sub(rf"\1 {MASK}", _PAIR.sub(_pair, found)))
    found = str(_without(found, {value for value in named if len(value) >= SHORTEST}))  # it may stand there twice
    for value in sorted(_met, key=len, reverse=True):
        found = found.replace(value, MASK)
    return found


def forget() -> None:
    """Another command begins: what an earlier one in this process has met is not looked for."""
    _met.clear()


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


class _Fields:
    """One walk through a config."""

    def __init__(self, root: Any, environment: bool = True) -> None:
        """`root`: the whole config, unresolved. `environment`: whether values from there are secrets."""
        self.root, self.environment = root, environment
        self.met: set[str] = set()

    def masked(self, resolved: Any, raw: Any, at: Place = ()) -> Any:
        """`at`: the names that lead to this value."""
        if isinstance(raw, str) and "${" in raw:
            if self._leads_to_secret(raw, at):
                return self._hidden(resolved)
            raw, at = _followed(raw, at, self.root)
        if isinstance(resolved, Mapping):
            inner = raw if isinstance(raw, Mapping) else {}
            return {
                k: self._hidden(v) if secret_name(str(k)) else self.masked(v, inner.get(k), (*at, str(k)))
                for k, v in resolved.items()
            }
        if isinstance(resolved, list):
            parts = raw if isinstance(raw, list) and len(raw) == len(resolved) else [None] * len(resolved)
            found: list[Any] = []
            for i, (value, part) in enumerate(zip(resolved, parts, strict=True)):
                hide = i > 0 and _takes_secret(resolved[i - 1]) and not _is_flag(value)
                found.append(self._hidden(value) if hide else self._argument(value, part, (*at, str(i))))
            return found
        return _in_urls(resolved) if isinstance(resolved, str) else resolved

    def _argument(self, value: Any, raw: Any, at: Place) -> Any:
        """An item of a list, which can be `--token=…`, `API_KEY=…` or `Authorization: …`."""
        named = _ARGUMENT.fullmatch(value) if isinstance(value, str) else None
        return named[1] + self._hidden(named[3]) if named and secret_name(named[2]) else self.masked(value, raw, at)

    def _hidden(self, value: Any) -> Any:
        """`***` for each scalar, remembered for `redacted`; what says nothing (null, true) stays."""
        if isinstance(value, Mapping):
            return {k: self._hidden(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._hidden(v) for v in value]
        if value is None or isinstance(value, bool) or value in ("", MASK, "???"):
            return value
        self._meet(str(value))
        return MASK

    def _meet(self, value: str) -> None:
        if os.path.isabs(value) and os.path.isdir(value):  # a home folder is no secret, and part of many paths
            return
        for one in (value, _SCHEME.sub("", value)):
            if len(one) >= SHORTEST:
                self.met.add(one)
                _met.add(one)

    def _leads_to_secret(self, raw: str, at: Place) -> bool:
        """Whether an interpolation ends in a field named like a secret or in the environment, also by way of others."""
        secret = False
        for text, place in _chain(raw, at, self.root):
            for name in _ENVIRONMENT.findall(text) if self.environment else ():
                secret = True
                self._meet(os.environ.get(name, ""))
            secret |= any(secret_name(part) for name in _named(text, place) for part in name)
        return secret


def _named(text: str, at: Place) -> Iterator[Place]:
    """Where all that is named in a text's interpolations would be, names of resolvers and their arguments included.

    >>> list(_named("Bearer ${.keys[0]} of ${oc.select:judge.name}", ("judge", "header")))
    [('judge', 'keys', '0'), ('oc', 'select'), ('judge', 'name')]
    """
    for inside in _INTERPOLATION.findall(text):
        for name in _REFERRED.findall(inside):
            yield _place(name, at)


def _chain(text: str, at: Place, root: Any, depth: int = DEEPEST) -> Iterator[tuple[str, Place]]:
    """The text and those that its interpolations lead to, each with its place."""
    yield text, at
    for place in _named(text, at) if depth else ():
        value = _node(root, place)
        if isinstance(value, str) and "${" in value:
            yield from _chain(value, place, root, depth - 1)


def _followed(raw: Any, at: Place, root: Any) -> tuple[Any, Place]:
    """(the unresolved value, its place) that a reference and nothing else ends at."""
    for _ in range(DEEPEST):
        whole = _REFERENCE.fullmatch(raw) if isinstance(raw, str) else None
        if whole is None:
            break
        at = _place(whole[1], at)
        raw = _node(root, at)
    return raw, at


def _place(name: str, at: Place) -> Place:
    """One dot: beside the value at `at`; each further one a level up."""
    dots = len(name) - len(name.lstrip("."))
    parts = [part for part in re.split(r"[.\[\]'\"]+", name) if part]
    return (*(at[: max(len(at) - dots, 0)] if dots else ()), *parts)


def _node(root: Any, place: Place) -> Any:
    for part in place:
        if isinstance(root, Mapping):
            root = root.get(part)
        elif isinstance(root, list) and part.isdecimal() and int(part) < len(root):
            root = root[int(part)]
        else:
            return None
    return root


def _without(value: Any, secrets: Iterable[str]) -> Any:
    """A copy without secrets in any of its texts; `_target_` is code, which no secret is part of."""
    patterns = [
        re.escape(secret) if len(secret) >= 8 else rf"(?<!\w){re.escape(secret)}(?!\w)"
        for secret in sorted(secrets, key=len, reverse=True)
        if len(secret) >= 8 or not secret.isalpha()  # `test`, `basic`, `ollama`: words that a config has anyway
    ]
    return _replaced(value, re.compile("|".join(patterns))) if patterns else value


def _replaced(value: Any, secrets: re.Pattern[str]) -> Any:
    if isinstance(value, Mapping):
        return {k: v if k == "_target_" else _replaced(v, secrets) for k, v in value.items()}
    if isinstance(value, list):
        return [_replaced(v, secrets) for v in value]
    return secrets.sub(MASK, value) if isinstance(value, str) else value


def _is_flag(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"--[A-Za-z]|-[A-Za-z]$", value) is not None


def _takes_secret(value: Any) -> bool:
    """Whether an argument is a flag after which a secret comes."""
    flag = _FLAG.fullmatch(value) if isinstance(value, str) else None
    return flag is not None and secret_name(flag[1])


def _pair(found: re.Match[str]) -> str:
    return found[0] if found[2].strip("'\"") in ("null", "None", "true", "false", MASK, "") else found[1] + MASK


def _in_urls(text: str) -> str:
    return _QUERY.sub(_query, _SLASHED.sub(rf"\1{MASK}@", _CREDENTIALS.sub(rf"\1{MASK}@", text)))


def _query(found: re.Match[str]) -> str:
    secret = secret_name(found[2].replace(".", "_")) or _QUERY_NAME.search(_CAMEL.sub("_", found[2]))
    return found[1] + found[2] + found[3] + MASK if secret else found[0]
