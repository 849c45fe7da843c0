"""Which names are names of secrets: of fields, headers, flags, variables and parameters of a query.

The last word decides, before `_prod`, `_2` and the like: passwords and credentials always, `key` and `token` unless the
word before says that it is one of data (`sort_key`, `eos_token`). What is taken for a secret is no part of a config's
key, so a wrong guess would make two configs one: words of data are listed generously.

>>> [name for name in ("openai_key", "my_pw", "X-Api-Key", "max_tokens", "sort_key", "monkey") if secret_name(name)]
['openai_key', 'my_pw', 'X-Api-Key']
"""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[A-Za-z]+")
LONGEST = 200
"""Characters of a name that are looked at, from its end."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALWAYS = _words(
    "password passwords passwd passphrase passcode pwd pw secret secrets credential credentials creds authorization "
    "bearer cookie cookies jwt"
)
GLUED = ("password", "passwd", "passphrase", "secret", "apikey", "apikeys", "accesskey", "secretkey", "privatekey")
"""Ends of a word that no other word has: `dbpassword`, `clientsecret`."""
WHERE = _words(
    "value values prod production dev development staging test live primary secondary old new main default backup b64 "
    "base64 hex raw header str string"
)
"""Words after which the one before decides: `api_key_prod`, `auth_header`."""
KEYS_OF_DATA = _words(
    "sort sorting order primary foreign public cache id ids text label labels field column col row group groupby join "
    "partition dict map json data dataset input inputs output outputs source src target reference references question "
    "answer prompt context document doc title name object s hot short natural unique index lookup hash cluster strata "
    "split config system metric score result run record message messages content role chat image audio video feature "
    "features response request param parameter metadata meta tag category class type topic domain language lang locale "
    "translation shard block batch step time date timestamp version parent child node edge item entity attribute "
    "property value token tokens state model weight weights layer head query passage summary hypothesis prediction "
    "gold sentence word char page section url path file filename folder by per any each every which major minor home "
    "return enter arrow function share"
)
TOKENS_OF_DATA = _words(
    "pad bos eos unk sep cls mask bot eot image audio video special start end stop prefix suffix first last next "
    "previous new max min num n per by each any single decoder begin boi eoi newline think thinking language lang tool "
    "vision continuation control current input output prompt cached reasoning"
)
KEY_HOLDERS = _words(
    "api access secret private signing encryption subscription auth service account master ssh ssl tls rsa openai "
    "azure anthropic google gemini cohere mistral groq hf huggingface aws gcp github gitlab wandb comet deepseek "
    "together"
)
TOKEN_HOLDERS = KEY_HOLDERS | _words("refresh session bot bearer csrf xsrf slack user oauth id")
PASSES_OF_WORK = _words("first second third two one multi single num n forward backward each per last")


def secret_name(field: str) -> bool:
    """Whether a field is named like a secret."""
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub("_", field[-LONGEST:]))]
    while len(words) > 1 and words[-1] in WHERE:
        words.pop()
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ALWAYS or last.endswith(GLUED):
        return True
    if last == "pass":
        return before not in PASSES_OF_WORK
    if last == "auth":
        return True
    if last == "key":
        return before not in KEYS_OF_DATA
    if last == "token":
        return before not in TOKENS_OF_DATA
    if last in ("keys", "tokens"):
        return before in (KEY_HOLDERS if last == "keys" else TOKEN_HOLDERS)
    return (last.endswith("key") and last[:-3] in KEY_HOLDERS) or (
        last.endswith("token") and last[:-5] in TOKEN_HOLDERS
    )


def bare(field: str) -> bool:
    """Whether a name says little by itself: of a field or a flag it is a secret's, in `key=3` maybe a column's."""
    return field.lower() in ("key", "token", "pass", "auth")


def names_data(value: object) -> bool:
    """Whether the value of a field `key` is the name of a column, a number or a hash, and no secret.

    >>> [value for value in ("question_id", 3, "sk-12345", "0" * 64) if names_data(value)]
    ['question_id', 3, '0000000000000000000000000000000000000000000000000000000000000000']
    """
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and re.fullmatch(r"[a-z][a-z_]{0,40}|[0-9a-f]{40}|[0-9a-f]{64}", value) is not None
