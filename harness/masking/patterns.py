r"""Secrets known by what they look like, wherever they stand: tokens of services, private keys, credentials in URLs,
`Bearer …` and `password=…`.

The formats of tokens are those of detect-secrets 1.5 (Yelp, Apache 2.0), the scanner of repositories, with those of the
services that evaluations call beside them (Hugging Face, OpenAI, Anthropic, Google, Groq, …). It is not called itself:
it looks for lines, not for places in them, takes 0.24 s to import, and its searches for texts of high entropy would
mask hashes and file names. Every expression takes time linear in the text: words are entered at their beginning only,
and lengths are bounded.

>>> value("Bearer abc123def and ghp_0123456789abcdefghij")[0]
'Bearer *** and ***'
>>> value("postgresql://me:word@host/db?sslmode=on&password=abc")[0]
'postgresql://***@host/db?sslmode=on&password=***'
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from harness.masking.names import bare, secret_name

MASK = "***"
PLACEHOLDERS = tuple("{<$*%[")
"""Beginnings of what is filled in later."""
NOTHING = ("null", "None", "true", "false", "True", "False", "", MASK)
_TOKENS = (
    r"sk-(?=[A-Za-z_-]{0,200}(?:\d|[A-Za-z][A-Z]))[\w-]{12,}",  # OpenAI, Anthropic, OpenRouter; not `sk-learn`
    r"(?:gh[pousr]|github_pat)_\w{12,}",
    r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[\w-]{16,}",
    r"(?:xox[a-z]|xapp)-[\w-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[\w-]{30,}",
    r"ya29\.[\w-]{20,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"(?:npm|gsk|r8|fw|lin_api|ntn|shpat|shpss)_[A-Za-z0-9]{24,}",
    r"(?:xai|pplx|nvapi|tvly|dckr_pat|sq0csp|sq0atp)-[\w-]{24,}",
    r"(?:dop|doo|dor)_v1_[0-9a-f]{32,}",
    r"lsv2_[a-z]{2}_[0-9a-f_]{20,}",
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"pypi-AgE[\w-]{40,}",
    r"SG\.[\w-]{16,80}\.[\w-]{16,}",
    r"SK[0-9a-f]{32}(?![0-9A-Za-z])",  # Twilio
    r"[0-9a-f]{32}-us\d{1,2}(?![0-9A-Za-z])",  # Mailchimp
    r"dapi[0-9a-f]{32}",
    r"hvs\.[\w-]{20,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    r"eyJ[\w=-]{8,}\.[\w=-]{8,}(?:\.[\w=-]*)?",  # JSON Web Token
    r"\d{8,10}:[\w-]{35}(?![\w-])",  # Telegram
    r"[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}(?![\w-])",  # Discord
)
_TOKEN = re.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(_TOKENS)})")
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----(?:(?!-----END )[\s\S])*+"
    r"(?:-----END [A-Z0-9 ]{0,60}-----)?"
)
_HOOK = re.compile(r"(hooks\.slack\.com\\?/(?:services|workflows)/)[\w/]{1,200}")
_CREDENTIALS = re.compile(r"\b(\w+\\?://)([^/?#\s]+)@")  # a backslash: as Hydra quotes in overrides
_COLLAPSED = re.compile(r"\b(\w{2,20}:/)(?!/)([^/?#\s@:]{0,200}:[^/?#\s@]{1,2000})@")  # `https:/me:word@host`: pathlib
_SLASHED = re.compile(  # a password with a slash; `http://host:8080/x@y` is a port and a path
    r"\b(?!(?:https?|wss?)\\?://[^\s@/:]*:\d{1,5}\b)(\w+\\?://)([^\s@/:]*:[^\s@'\"<>]{0,2000})@(?:[^/?#\s@]*@)*",
    re.IGNORECASE,
)
_QUERY = re.compile(r"([?&#])([\w.-]+)(\\?=)([^&#\s'\"]+)")
_QUERY_NAME = re.compile(r"^key$|(?:^|[._-])(?:sig|signature)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HEADER = re.compile(r"\b(Bearer|Basic)(\\? +)([\w.~+/=-]{6,})", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}")
SCHEME = re.compile(r"^(?:Bearer|Basic) +", re.IGNORECASE)
_NAME = re.compile(r"(?<![\w.-])(-{0,2})([A-Za-z_][\w.-]*+)(\\?['\"]?\s*\\?([=:])\s*)")
_GIVEN = re.compile(r"(?:(?:Bearer|Basic)\\? )?(?:\"[^\"]*\"|'[^']*'|\\\"[^\"\\]*\\\"|[^\s,;&}\]'\"]+)", re.IGNORECASE)
_QUOTES = "\\'\""


def value(text: str) -> tuple[str, set[str]]:
    """(a value of a config without its secrets, these); prompts and names of models are such values too."""
    secrets: set[str] = set()

    def token(match: re.Match[str]) -> str:
        secrets.add(match[0])
        return MASK

    def header(match: re.Match[str]) -> str:
        if not _sent(match[1], match[3], match[0] == text.strip()):
            return match[0]
        secrets.add(match[3])
        return match[1] + match[2] + MASK

    def named(name: re.Match[str], given: str) -> bool:
        if bare(name[2]) and not name[1]:  # `token=x` may be about a field of the data, `--token=x` is not
            return False
        plain = SCHEME.sub("", given.strip(_QUOTES))
        if plain.startswith(PLACEHOLDERS):
            return False
        quoted = name[3][0] in _QUOTES and given[0] in _QUOTES
        return name[4] == "=" or quoted or _random(plain)  # not `Secret: never lie` in a prompt

    clean = _HEADER.sub(header, _TOKEN.sub(token, _PEM.sub(token, text)))
    secrets |= {password for password in passwords(clean) if password not in NOTHING}
    clean, given = _paired(clean, named)
    return in_urls(clean), secrets | given


def elsewhere(text: str) -> tuple[str, set[str]]:
    """(a text that was made elsewhere without its secrets, those that stood after their names)."""
    clean, secrets = _paired(_PEM.sub(MASK, text), lambda name, _: _last(name[2]) not in ("key", "pass", "auth"))
    return in_urls(_TOKEN.sub(MASK, _HEADER.sub(_header_elsewhere, clean))), secrets


def _header_elsewhere(match: re.Match[str]) -> str:
    """A header of a text that was made elsewhere: what follows `Basic` is base64, unlike the next word of a command or
    a sentence (`hydra/sweeper=basic system.temperature=0.5`)."""
    word = match[3]
    coded = _BASE64.fullmatch(word) is not None and (_random(word) or _sent("basic", word, alone=False))
    return match[0] if match[1].lower() == "basic" and not coded else f"{match[1]} {MASK}"


def _paired(text: str, counts: Callable[[re.Match[str], str], bool]) -> tuple[str, set[str]]:
    """(the text without what stands after names of secrets, those values); `counts` knows names that are none there."""
    parts, secrets, end = [], set(), 0
    name = _NAME.search(text)
    while name:
        at = name.end()
        given = _GIVEN.match(text, at) if secret_name(_last(name[2])) else None
        if given and given[0].strip(_QUOTES) not in NOTHING and counts(name, given[0]):
            secrets.add(SCHEME.sub("", given[0].strip(_QUOTES)))
            parts += [text[end:at], MASK]
            at = end = given.end()
        name = _NAME.search(text, at)  # a value that is no secret may hold more names
    return "".join([*parts, text[end:]]), secrets


def _last(name: str) -> str:
    """`api_key` of `system.api_key`."""
    return name.rpartition(".")[2]


def in_urls(text: str) -> str:
    """Without credentials in URLs and in their queries."""
    for pattern in (_CREDENTIALS, _COLLAPSED, _SLASHED):
        text = pattern.sub(rf"\1{MASK}@", text)
    return _QUERY.sub(_query, _HOOK.sub(rf"\1{MASK}", text))


def passwords(text: str) -> Iterator[str]:
    """What stands after a user's name in URLs."""
    for pattern in (_CREDENTIALS, _COLLAPSED, _SLASHED):
        for match in pattern.finditer(text):
            yield match[2].partition(":")[2]


def _sent(scheme: str, word: str, alone: bool) -> bool:
    """Whether `Bearer WORD` or `Basic WORD` is a header: not `Basic English`."""
    if scheme.lower() == "bearer":
        return alone or _random(word)
    try:
        return b":" in base64.b64decode(word, validate=True)
    except ValueError:
        return False


def _random(word: str) -> bool:
    """Whether a word is no word of a language: letters and digits, or capitals in its middle; eight of them at least.

    >>> [word for word in ("English", "document", "abc123def", "dXNlcjpwYXNz", "https://host/v1") if _random(word)]
    ['abc123def', 'dXNlcjpwYXNz']
    """
    if len(word) < 8 or "://" in word:
        return False
    mixed = re.search(r"[a-z][A-Z]", word) is not None
    return mixed or (any(c.isdigit() for c in word) and any(c.isalpha() for c in word))


def _query(parameter: re.Match[str]) -> str:
    secret = secret_name(parameter[2].replace(".", "_")) or _QUERY_NAME.search(_CAMEL.sub("_", parameter[2]))
    return parameter[1] + parameter[2] + parameter[3] + MASK if secret else parameter[0]
