"""Secrets, found and replaced by `***` before anything is written, printed or logged.

`masked` is for what has fields (a config, a manifest): values of fields named like a secret, what interpolations make
of them, arguments after flags named like one, what looks like a secret by itself (tokens of services, private keys,
credentials in URLs, `Bearer …`, `password=…`), values from the environment, and each of these wherever else it stands.
`redacted` is for text that was made elsewhere (the error of a library, a log line, a command as it was typed): it looks
for the same, and for every secret that `masked` has met.

names.py     which names are names of secrets
patterns.py  secrets known by what they look like
walk.py      one walk through a config
met.py       what was met, and text without it
packing.py   a last look before files leave the machine

>>> masked({"api_key": "sk-12", "base_url": "https://me:word@host/v1", "command": ["ask", "--token", "abcd"]})
{'api_key': '***', 'base_url': 'https://***@host/v1', 'command': ['ask', '--token', '***']}
>>> redacted("POST https://me:word@host/v1?token=abc failed")
'POST https://***@host/v1?token=*** failed'
"""

from harness.masking.met import RedactingStream, excerpt, forget, redacted
from harness.masking.names import secret_name
from harness.masking.patterns import MASK
from harness.masking.walk import NOWHERE, Origins, Place, keyed, masked

__all__ = [
    "MASK", "NOWHERE", "Origins", "Place", "RedactingStream", "excerpt", "forget", "keyed", "masked", "redacted",
    "secret_name",
]  # fmt: skip
