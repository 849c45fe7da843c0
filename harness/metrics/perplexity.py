"""Perplexity of texts under a causal language model, as a plain loop over transformers computes it; lower is better.

A row holds the negative log likelihood of a text in nats, its scored tokens and their bytes of UTF-8. The score of a
run is the exponential of the pooled mean, which is not the mean of the examples' perplexities; bits per byte can be
compared between tokenizers. A text longer than the model can take is scored by the sliding window of the transformers
documentation: windows of `max_length` tokens advance by `stride`, and each token counts once, in the first window that
holds it. No end token is scored. An empty text has no perplexity: it is missing.

`given` adds the perplexity of an output that follows its source, its contexts or both: how expected it is there, beside
how expected it is by itself. The same tokens are scored in both.

>>> metric = Perplexity("any/model")
>>> rows = np.array([[np.log(2), 1, 1], [3 * np.log(8), 3, 9]])  # one token of probability 1/2, three of 1/8
>>> [round(float(x), 4) for x in metric.score(rows.sum(0))]  # not (2 + 8) / 2
[5.6569, 1.0]
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from harness.inputs.pretrained import Pretrained
from harness.types import Array, Batch, HarnessError, Metric, check_choice, check_least, titled
from harness.types.shown import counted

log = logging.getLogger(__name__)
KINDS = ("outputs", "references", "sources")
GIVEN = ("sources", "contexts")
BETWEEN = "\n\n"
"""After each text that is given."""
STARTS = ("auto", "bos", "eos", "none")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
UNLIMITED = 2048
"""Tokens of a window where neither model nor tokenizer states a limit."""
MULTIPLE = 8
LOGITS = 2**27
"""Numbers that the logits of a batch may have: 512 MiB in float32."""


class Perplexity(Metric):
    name = "perplexity"
    title = "Perplexity"
    higher_is_better = False
    bounds = (1.0, math.inf)
    plain = ("of", "given", "start", "max_length", "stride", "batch_tokens", "device", "dtype")

    def extremes(self, batch: Batch) -> None:
        return None  # an output can always be worse

    def digits_of(self, score: str) -> int:
        return 4 if score.endswith("bits_per_byte") else 2

    def title_of(self, score: str) -> str:
        return titled(score, "Conditional perplexity" if score.startswith("conditional") else self.title)

    def __init__(
        self,
        model: str,
        of: str | Sequence[str] = "outputs",
        given: str | Sequence[str] = (),
        start: str = "auto",
        max_length: int | None = None,
        stride: int | None = None,
        batch_tokens: int = 2048,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        pickle: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """`of`: whose perplexity; others after the first are yardsticks on the same examples, shown as sub-scores.
        `given`: what stands before the output for its conditional perplexity, in this order. `start`: the token put
        before it all, so that the first one can be scored too; `auto` is the tokenizer's bos, else its eos, else none.
        `batch_tokens`: at most so many at once, fewer for a large vocabulary.
        """
        self.of = (of,) if isinstance(of, str) else tuple(of)
        self.given = (given,) if isinstance(given, str) else tuple(given)
        self.start, self.max_length, self.stride, self.batch_tokens = start, max_length, stride, batch_tokens
        if not self.of or not set(self.of) <= set(KINDS) or len(set(self.of)) < len(self.of):
            raise HarnessError(f"metrics.perplexity.of={of}; expected one or more of {', '.join(KINDS)}")
        if not set(self.given) <= set(GIVEN) or len(set(self.given)) < len(self.given):
            raise HarnessError(f"metrics.perplexity.given={given}; expected one or both of {', '.join(GIVEN)}, or none")
        if self.given and self.of[0] != "outputs":
            raise HarnessError(
                f"metrics.perplexity.given={given} with of={of}; expected of=outputs: what is given stands before them"
            )
        check_choice("metrics.perplexity.start", start, STARTS)
        check_least("metrics.perplexity.batch_tokens", batch_tokens)
        self.reads = tuple(dict.fromkeys(self.of + self.given))
        self.needs_references = "references" in self.of
        parts = ["", *(f"{kind}_" for kind in self.of[1:]), *(["conditional_"] if self.given else [])]
        self.columns = tuple(part + column for part in parts for column in ("nll", "tokens", "bytes"))
        self.counted = tuple(part + column for part in parts for column in ("tokens", "bytes"))
        self.score_names = ("perplexity", "perplexity.bits_per_byte")
        for kind in self.of[1:]:  # a yardstick is not a headline score: it is the same for every system
            self.score_names += (f"perplexity.{kind}", f"perplexity.{kind}_bits_per_byte")
        if self.given:
            self.score_names += ("conditional_perplexity", "conditional_perplexity.bits_per_byte")
        self._pretrained = Pretrained(
            model,
            "metrics.perplexity.model",
            revision=revision,
            dtype=dtype,
            device=device,
            pickle=pickle,
            trust_remote_code=trust_remote_code,
        )

    @classmethod
    def stored(cls, options: Mapping[str, Any], columns: Sequence[str]) -> Perplexity:
        """The model is neither looked for nor loaded."""
        return cls("none", **{option: value for option, value in options.items() if option in cls.plain})

    # ------------------------------------------------------------ identity

    def definition(self) -> dict[str, str]:
        length, stride = self._window
        return {
            "model": self._pretrained.label,
            "of": "+".join(self.of),
            **({"given": "+".join(self.given)} if self.given else {}),
            "start": self._start[0],
            "max_length": str(length),
            "stride": str(stride),
            "dtype": self._pretrained.dtype,
        }

    def provenance(self) -> dict[str, str]:
        return self._pretrained.versions()

    @cached_property
    def _start(self) -> tuple[str, list[int]]:
        """(the rule in force, the tokens before the text)."""
        tokenizer = self._pretrained.tokenizer
        known = {"bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id}
        has = [rule for rule, token in known.items() if token is not None]
        rule = next(iter(has), "none") if self.start == "auto" else self.start
        if rule == "none":
            return rule, []
        if rule not in has:
            raise HarnessError(
                f"metrics.perplexity.start={rule}: the tokenizer of {self._pretrained.model} has no {rule} token; "
                f"expected one of {', '.join(['auto', *has, 'none'])}"
            )
        return rule, [known[rule]]

    @cached_property
    def _window(self) -> tuple[int, int]:
        """(tokens of a window, tokens by which it advances)."""
        room = _positions(self._pretrained.config) or _positions(self._loaded[1].config.to_dict())
        known = self._pretrained.tokenizer.model_max_length  # an absurd number where the tokenizer knows none
        length = room or (known if known < 10**9 else UNLIMITED)
        length = length if self.max_length is None else self.max_length
        if not 2 <= length <= (room or length):
            raise HarnessError(f"metrics.perplexity.max_length={length}; expected 2 to {room or 'any number'}")
        stride = length // 2 if self.stride is None else self.stride
        if not 1 <= stride < length:
            raise HarnessError(
                f"metrics.perplexity.stride={stride}; expected 1 to {length - 1}, less than max_length={length}"
            )
        return length, stride

    # ------------------------------------------------------------ rows

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int]:
        """(torch, the model, the size of its vocabulary)."""
        return self._pretrained.loaded("causal", self._load)

    def _load(self) -> tuple[Any, Any, int]:
        torch, _, model = self._pretrained.load("AutoModelForCausalLM")
        with torch.inference_mode():  # transformers takes an encoder such as BERT for a causal model: look
            same_start = torch.tensor([[0, 1, 1, 1], [0, 2, 2, 2]], device=model.device)
            first, second = model(input_ids=same_start).logits[:, 0].float()
        if (first - second).abs().max() > torch.finfo(model.dtype).eps ** 0.5 * first.std():
            raise HarnessError(
                f"metrics.perplexity.model={self._pretrained.model} is a {type(model).__name__} that sees the tokens "
                "it should predict; expected a causal language model"
            )
        return torch, model, first.shape[-1]

    def statistics(self, batch: Batch) -> Array:
        texts_of: dict[str, list[Sequence[str]]] = {
            "outputs": [[text] for text in batch.outputs],
            "references": list(batch.references),
            "sources": [[] if text is None else [text] for text in batch.sources],
        }
        own = [[[("", text) for text in texts if text] for texts in texts_of[kind]] for kind in self.of]
        if self.given:
            before = self._before(batch)
            own.append(
                [[(head, text)] if head and text else [] for head, text in zip(before, batch.outputs, strict=True)]
            )
        pairs = sorted({pair for pairs_of in own for pairs in pairs_of for pair in pairs})
        sums = dict(zip(pairs, self._texts(pairs, len(batch)), strict=True))
        rows = np.zeros((len(batch), len(self.columns)))
        for k, pairs_of in enumerate(own):
            for i, some in enumerate(pairs_of):
                for pair in some:
                    rows[i, 3 * k : 3 * k + 3] += sums[pair]
        rows[(rows[:, 1::3] == 0).any(axis=1)] = np.nan  # so that a yardstick is of the same examples
        return rows

    def _before(self, batch: Batch) -> list[str]:
        """What is given before each output; empty where an example has none of it."""
        texts: list[list[str]] = [[] for _ in range(len(batch))]
        for kind in self.given:
            if kind == "sources":
                added = [[source or ""] for source in batch.sources]
            else:
                added = [[context.text or "" for context in contexts or ()] for contexts in batch.contexts]
            for own, more in zip(texts, added, strict=True):
                own += more
        before = ["".join(text + BETWEEN for text in own if text) for own in texts]
        if without := before.count(""):
            log.warning(
                "perplexity: %d of %d examples have no %s to stand before the output (metrics.perplexity.given), and "
                "no score", without, len(batch), " and no ".join(self.given),
            )  # fmt: skip
        return before

    def _texts(self, pairs: list[tuple[str, str]], examples: int) -> Array:
        """(pairs, 3): of each (what stands before, text) negative log likelihood, tokens and bytes of the text."""
        sums = np.zeros((len(pairs), 3))
        windows = list(self._windows(pairs, sums))
        windows.sort(key=lambda window: (-window.width, window.text))
        work, done, reported = sum(window.width for window in windows), 0, 0
        for batch in self._batches(windows):
            for window, nll in zip(batch, self._nll(batch), strict=True):
                if not np.isfinite(nll):
                    raise HarnessError(
                        f"{self._pretrained.model} in {self._pretrained.dtype} gives the text "
                        f"{pairs[window.text][1][:60]!r} the negative log likelihood {nll}; expected a finite number"
                    )
                sums[window.text] += (nll, window.scored, 0)
                done += window.width
            self.advance(examples * done // work - reported)
            reported = examples * done // work
        self.advance(examples - reported)
        sums[sums[:, 1] == 0] = 0.0  # no bytes without a token
        return sums

    def _windows(self, pairs: list[tuple[str, str]], sums: Array) -> Iterator[_Window]:
        """What the model will see; the bytes of scored tokens go to `sums`."""
        if not pairs:
            return
        tokenizer, (_, start), (length, stride) = self._pretrained.tokenizer, self._start, self._window
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)["input_ids"]
        tokens = dict(zip(texts, encoded, strict=True))
        too_long = 0
        for i, (before, text) in enumerate(pairs):
            head = start + list(tokens[before])
            sums[i, 2] = len(text.encode())
            if not head:  # a first token that is part of a character takes none of its bytes away
                sums[i, 2] -= len(tokenizer.decode(tokens[text][:1]).rstrip("\ufffd").encode())
            ids = head + list(tokens[text])
            too_long += bool(before) and len(ids) > length
            for begin, end, scored in windows(len(ids), length, stride):
                if end > len(head):
                    scored = min(scored, end - len(head))
                    yield _Window(i, ids[begin:end], scored, min(-(end - begin) // MULTIPLE * -MULTIPLE, length))
        if too_long:
            log.warning(
                "perplexity: %s, with what stands before, longer than a window of %d tokens: the model sees "
                "only so much at once", counted(too_long, "output"), length,
            )  # fmt: skip

    def _batches(self, windows: list[_Window]) -> Iterator[list[_Window]]:
        """Of one width each: for one shape a model's arithmetic on a text does not depend on the texts beside it."""
        for width, same in groupby(windows, key=lambda window: window.width):
            group = list(same)
            tokens = min(self.batch_tokens, LOGITS // self._loaded[2])
            count = max(1, tokens // width)
            yield from (group[i : i + count] for i in range(0, len(group), count))

    def _nll(self, batch: list[_Window]) -> list[float]:
        """Summed over the scored tokens of each. What is padded on the right no causal model sees, so needs no mask."""
        torch, model, vocabulary = self._loaded
        padded = [window.ids + [0] * (window.width - len(window.ids)) for window in batch]
        likelihoods = []
        with torch.inference_mode():
            tokens = torch.tensor(padded, device=model.device)
            logits = model(input_ids=tokens, use_cache=False).logits
            step = max(1, LOGITS // 16 // vocabulary)  # cross entropy makes a copy: of a part at a time
            for i, window in enumerate(batch):
                last, nll = len(window.ids) - 1, 0.0
                for a in range(last - window.scored, last, step):
                    b = min(a + step, last)
                    parts = torch.nn.functional.cross_entropy(
                        logits[i, a:b].float(), tokens[i, a + 1 : b + 1], reduction="none"
                    )
                    nll += float(parts.cpu().double().sum())
                likelihoods.append(nll)
        return likelihoods

    def score(self, sums: Array) -> Array:
        nll, tokens, size = (sums[..., i::3] for i in range(3))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scores = np.stack([np.exp(nll / tokens), nll / np.log(2) / size], axis=-1)
        scores = scores.reshape(*sums.shape[:-1], len(self.score_names))
        return np.where(np.isfinite(scores), scores, np.nan)  # beyond 709 nats a token: undefined, not infinite


@dataclass(frozen=True)
class _Window:
    text: int
    ids: list[int]
    scored: int
    """How many tokens at the end count here."""
    width: int
    """Tokens with padding."""


def windows(tokens: int, length: int, stride: int) -> Iterator[tuple[int, int, int]]:
    """(begin, end, how many at the end are scored): every token but the first once, with most of its context.

    >>> list(windows(10, length=6, stride=3))
    [(0, 6, 5), (3, 9, 3), (6, 10, 1)]
    """
    done = 1
    for begin in range(0, tokens, stride):
        end = min(begin + length, tokens)
        if end > done:
            yield begin, end, end - done
        if end == tokens:
            return
        done = end


def _positions(config: dict[str, Any]) -> int | None:
    """Tokens that a model can take at once, by its config."""
    parts = (config, config.get("text_config") or {})
    return next((int(part[key]) for part in parts for key in POSITIONS if part.get(key)), None)
