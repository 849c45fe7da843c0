"""Vectors of texts from one layer of a pretrained encoder, or from all of them.

Only texts of the same number of tokens are encoded together, so that nothing is padded: a text then gets the same
vectors to the last bit whatever the batch, the order and the other texts, and no time goes into padding. Vectors are
kept in a store where one is given, under a key of weights, layer, dtype, maximum length and text; a text whose vectors
are there needs neither the model nor torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.inputs.files import digest
from harness.inputs.pretrained import Pretrained
from harness.types import Arrays, HarnessError

STACKS = ("encoder.layer", "encoder.block", "encoder.layers", "transformer.layer", "layers", "layer", "block", "h")
"""Where models keep their layers."""
SPECIAL = 8
"""Tokens that a text has beside those of its characters, at most."""
ROWS = 64
"""Tokens that a batch has at least: a product of very few rows is computed in another order."""


@dataclass(frozen=True)
class Encoded:
    """A text: its tokens, which of them are special, and a unit vector for each."""

    ids: NDArray[np.int32]
    special: NDArray[np.bool_]
    vectors: NDArray[np.float32]
    """(tokens, d), or (layers, tokens, d)."""
    cut: bool
    """Whether the text was longer than the model can take: it was cut, or encoded in windows."""


class Encoder:
    def __init__(
        self,
        pretrained: Pretrained,
        layer: int | None,
        max_length: int | None = None,
        batch_tokens: int = 4096,
        windowed: bool = False,
    ) -> None:
        """`layer`: None for all. `windowed`: a text that is too long is encoded a window at a time, not cut."""
        self.pretrained, self.layer, self.batch_tokens = pretrained, layer, batch_tokens
        self._wanted, self.windowed = max_length, windowed

    # ------------------------------------------------------------ tokens

    @cached_property
    def _room(self) -> int:
        """Positions that the model has. A tokenizer may know no maximum and say so with an absurd number."""
        config, tokenizer = self.pretrained.config, self.pretrained.tokenizer
        positions = config.get("max_position_embeddings") or config.get("n_positions") or 10**6
        if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
            positions -= (config.get("pad_token_id") or 0) + 1  # their positions start after the padding index
        if config.get("model_type") in ("t5", "mt5"):  # relative positions
            positions = 10**6
        return int(min(tokenizer.model_max_length, positions))

    @property
    def max_length(self) -> int:
        """Tokens of a text that are looked at."""
        return min(self._wanted or self._room, self._room)

    def tokens(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        """(token ids, whether the text was cut) of each; white space at the ends is dropped, as in bert-score."""
        if not texts:  # which transformers cannot take
            return []
        tokenizer = self.pretrained.tokenizer
        stripped = [text.strip() for text in texts]
        whole = tokenizer(stripped, truncation=False, verbose=False)["input_ids"]
        tokens = []
        for text, ids in zip(stripped, whole, strict=True):
            cut = len(ids) > self.max_length
            if cut:
                ids = tokenizer(text, truncation=True, max_length=self.max_length)["input_ids"]
            tokens.append((list(ids), cut))
        return tokens

    def windows(self, texts: Sequence[str]) -> list[list[str]]:
        """Each text in parts that need not be cut, halved at the white space next to the middle as often as needed."""
        parts = [[text] for text in texts]
        while True:
            flat = list(
                dict.fromkeys(part for text in parts for part in text if len(part.encode()) + SPECIAL > self.max_length)
            )
            long = {part for part, (_, cut) in zip(flat, self.tokens(flat), strict=True) if cut and len(part) > 1}
            if not long:
                return parts
            parts = [[half for part in text for half in (_halved(part) if part in long else (part,))] for text in parts]

    # ------------------------------------------------------------ vectors

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        return self.pretrained.loaded(("encoder", self.layer), self._load)

    def _load(self) -> tuple[Any, Any, Any]:
        return self.pretrained.load("AutoModel", self._used)

    def _used(self, model: Any) -> Any:
        """What the vectors are computed by."""
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        if self.layer is not None:
            self._drop_layers(model)
        if getattr(model, "pooler", None) is not None:
            model.pooler = None
        return model

    def _drop_layers(self, model: Any) -> None:
        """Layers above the chosen one are not computed; what follows the last one still is, as in bert-score."""
        import torch

        if hasattr(getattr(model, "encoder", None), "albert_layer_groups"):
            model.encoder.config.num_hidden_layers = self.layer
            return
        for path in STACKS:
            owner, _, name = path.rpartition(".")
            place = getattr(model, owner, None) if owner else model
            stack = getattr(place, name, None)
            if isinstance(stack, torch.nn.ModuleList):
                setattr(place, name, stack[: self.layer])
                return
        raise HarnessError(
            f"{self.pretrained.option}={self.pretrained.model}: the layers of a {type(model).__name__} were not found; "
            f"expected them at one of {', '.join(STACKS)}"
        )

    def encode(self, texts: Sequence[str], store: Arrays | None = None) -> dict[str, Encoded]:
        """Each distinct text once, from the store where it is there."""
        distinct = list(dict.fromkeys(texts))
        if not self.windowed:
            return self._encode(distinct, store)
        parts = dict(zip(distinct, self.windows(distinct), strict=True))
        encoded = self._encode(list(dict.fromkeys(chain.from_iterable(parts.values()))), store)
        return {text: _together([encoded[part] for part in windows]) for text, windows in parts.items()}

    def _encode(self, distinct: Sequence[str], store: Arrays | None) -> dict[str, Encoded]:
        keys = {text: self._key(text) for text in distinct} if store is not None and self.layer is not None else {}
        kept = store.get(list(keys.values())) if store is not None and keys else {}
        encoded = {text: _unpacked(kept[key]) for text, key in keys.items() if key in kept}
        missing = [text for text in distinct if text not in encoded]
        for part in self._batches(missing):
            encoded.update(part)
        if store is not None and keys and missing:
            store.put({keys[text]: _packed(encoded[text]) for text in missing})
        return encoded

    def _key(self, text: str) -> str:
        source = self.pretrained
        return digest([source.fingerprint, self.layer, source.dtype, self._wanted, text])

    def _batches(self, texts: Sequence[str]) -> Iterator[dict[str, Encoded]]:
        """By length, up to so many tokens at once."""
        tokens = dict(zip(texts, self.tokens(texts), strict=True))
        groups: dict[int, list[str]] = {}
        for text, (ids, _) in tokens.items():
            groups.setdefault(len(ids), []).append(text)
        for length, group in groups.items():
            count = max(1, self.batch_tokens // max(length, 1))
            for i in range(0, len(group), count):
                batch = group[i : i + count]
                yield self._batch(batch, [tokens[text] for text in batch])

    def _batch(self, texts: list[str], tokens: list[tuple[list[int], bool]]) -> dict[str, Encoded]:
        torch, tokenizer, model = self._loaded
        length = len(tokens[0][0])
        if not length:
            empty = np.zeros((0, 1), np.float32)
            return {text: Encoded(np.zeros(0, np.int32), np.zeros(0, np.bool_), empty, False) for text in texts}
        ids = np.array([own for own, _ in tokens], np.int64)
        ids = np.concatenate([ids, np.repeat(ids[:1], max(0, -(-ROWS // length) - len(ids)), axis=0)])
        with torch.inference_mode():
            out = model(input_ids=torch.from_numpy(ids).to(model.device), output_hidden_states=self.layer is None)
            hidden = out.last_hidden_state[:, None] if self.layer is not None else torch.stack(out.hidden_states, dim=1)
            hidden = hidden[: len(texts)].float()
            units = (hidden / hidden.norm(dim=-1, keepdim=True)).cpu().numpy()  # (texts, layers, length, d)
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
        encoded = {}
        for i, (text, (own, cut)) in enumerate(zip(texts, tokens, strict=True)):
            encoded[text] = Encoded(
                np.array(own, np.int32),
                np.array([token in special for token in own], np.bool_),
                units[i, 0] if self.layer is not None else units[i],
                cut,
            )
        return encoded


def _halved(text: str) -> tuple[str, str]:
    """
    >>> _halved("a few words more"), _halved("oneword")
    (('a few', 'words more'), ('one', 'word'))
    """
    middle = len(text) // 2
    before, after = text.rfind(" ", 1, middle + 1), text.find(" ", middle, len(text) - 1)
    near = [place for place in (before, after) if place > 0]
    if not near:
        return text[:middle], text[middle:]
    place = min(near, key=lambda place: abs(place - middle))
    return text[:place], text[place + 1 :]


def _together(windows: Sequence[Encoded]) -> Encoded:
    """A text from its windows."""
    if len(windows) == 1:
        return windows[0]
    ids, special = (np.concatenate([getattr(part, name) for part in windows]) for name in ("ids", "special"))
    return Encoded(ids, special, np.concatenate([part.vectors for part in windows], axis=-2), True)


def _packed(text: Encoded) -> bytes:
    head = np.array([len(text.ids), text.cut], np.int32)
    return b"".join(part.tobytes() for part in (head, text.ids, text.special.astype(np.int32), text.vectors))


def _unpacked(data: bytes) -> Encoded:
    words = np.frombuffer(data, np.int32)
    count, cut = words[:2].tolist()
    ids, special, rest = np.split(words[2:], [count, 2 * count])
    return Encoded(ids, special.astype(np.bool_), rest.view(np.float32).reshape(count, -1 if count else 1), bool(cut))


class Idf:
    """How rare each token is among some texts, as bert-score and MoverScore weigh it: log((N + 1) / (df + 1))."""

    def __init__(self, encoder: Encoder, texts: Sequence[str]) -> None:
        counts = Counter(chain.from_iterable(set(ids) for ids, _ in encoder.tokens(texts)))
        self.known = {token: log((len(texts) + 1) / (count + 1)) for token, count in counts.items()}
        self.unseen = log(len(texts) + 1)
        self.key = digest([len(texts), sorted(counts.items())])[:8]

    def of(self, text: Encoded) -> NDArray[np.float64]:
        """(tokens,)"""
        return np.array([self.known.get(token, self.unseen) for token in text.ids.tolist()], np.float64)


def chunks(outputs: Sequence[str], references: Sequence[Sequence[str]], tokens: int) -> Iterator[list[int]]:
    """Places of examples with about so many tokens together, by three characters a token; in the order of their length,
    so that texts of equal length meet."""
    chunk: list[int] = []
    size = 0
    for i in sorted(range(len(outputs)), key=lambda i: (len(outputs[i]), outputs[i], i)):
        chunk.append(i)
        size += sum(len(text) // 3 + 2 for text in (outputs[i], *references[i]))
        if size > tokens:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
