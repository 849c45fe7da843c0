"""Data inside a page: deflated and in base64, so that no text of a model can be taken for a part of the page.

The browser turns it back with its own DecompressionStream; script/data.js is the other half of this file.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SMALL = 500_000
"""Characters of examples that are read at once; more are unpacked after the first paint."""
SCORES = "scores-"
"""How the names of blocks of numbers begin."""
_LONE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which no file can hold."""
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", text)


def packed(content: bytes) -> str:
    """Same content, same characters."""
    return base64.b64encode(zlib.compress(content, 7)).decode()


def packed_json(value: Any) -> str:
    """`value`: texts are cleaned, NaN is null."""
    import orjson

    return packed(orjson.dumps(_cleaned(value), option=orjson.OPT_SERIALIZE_NUMPY))


def at_once(blocks: Mapping[str, str]) -> dict[str, str] | None:
    """The same blocks as JSON that the browser reads before it paints, where they are small; else None. Nothing in it
    can be taken for a part of the page either: it has no `<`."""
    import orjson

    texts = {}
    for name, block in blocks.items():
        content = zlib.decompress(base64.b64decode(block))
        if name.startswith(SCORES):
            content = orjson.dumps(np.frombuffer(content, "<f4"), option=orjson.OPT_SERIALIZE_NUMPY)
        texts[name] = content.decode().replace("<", "\\u003c")
    return texts if sum(map(len, texts.values())) <= SMALL else None


def packed_floats(columns: Sequence[Any]) -> str:
    """Columns of n numbers, NaN where missing, as little-endian float32, one column after the other."""
    joined = np.concatenate([np.asarray(column, np.float64) for column in columns]) if columns else np.empty(0)
    return packed(joined.astype("<f4").tobytes())


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else clean(value)
    if isinstance(value, dict):
        return {clean(str(k)): _cleaned(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(v) for v in value]
    return value
