"""Perplexity against a plain loop over tiny models made here, by hand under a uniform model, and the messages about
models that are missing."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import harness
from harness.metrics import perplexity
from harness.metrics.perplexity import Perplexity, windows
from harness.types import Batch, Contexts, HarnessError, Rows
from tests.conftest import ROWS, write_jsonl
from tests.metrics.hostile import texts as hostile

TEXTS = [
    "the cat sat on the mat",
    "a",
    "it is raining",
    "Straße, 中文 👍🏽!",
    "x",
    " \n",
    "dogs bark " * 5,
    "it is raining",
]
END = "<|end|>"


def words(kind: str, **special: str) -> Any:
    """A tokenizer: byte-level BPE in the manner of GPT-2, or BPE of characters in the manner of Llama."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    corpus = [text for row in ROWS for text in (row["source"], *row["references"])] * 3
    if kind == "bytes":
        core = Tokenizer(models.BPE())
        core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        core = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
        core.pre_tokenizer, core.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        alphabet, special = [], {**special, "unk_token": "<unk>"}
    trainer = trainers.BpeTrainer(
        vocab_size=300 if kind == "bytes" else 90, initial_alphabet=alphabet, show_progress=False,
        special_tokens=sorted(set(special.values())),
    )  # fmt: skip
    core.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=core, **special)


def llama(vocabulary: int, positions: int = 64, **options: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=positions, bos_token_id=None, eos_token_id=None, pad_token_id=None,
        initializer_range=0.2, **options,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def gpt2(vocabulary: int) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=vocabulary, n_embd=32, n_layer=2, n_head=4, n_positions=60, bos_token_id=0, eos_token_id=0,
        initializer_range=0.2,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """GPT-2 (absolute positions, bos), Llama (rotary positions, eos alone) and Llama without either."""
    import torch

    torch.manual_seed(1)
    made = tmp_path_factory.mktemp("models")
    for name, tokenizer, maker in (
        ("gpt2", words("bytes", bos_token=END, eos_token=END), gpt2),
        ("llama", words("chars", eos_token="</s>"), llama),
        ("bare", words("bytes"), llama),
    ):
        maker(len(tokenizer)).save_pretrained(made / name)
        tokenizer.save_pretrained(made / name)
    return {path.name: path for path in made.iterdir()}


@cache
def loaded(folder: Path) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).double().eval()


def plain(
    folder: Path, text: str, start: str, length: int = 10**6, stride: int = 10**6, given: str = ""
) -> tuple[float, int]:
    """(negative log likelihood, tokens), one text and one window at a time, as in the transformers documentation; what
    is given stands before the text and is not scored."""
    import torch

    tokenizer, model = loaded(folder)
    first = {"bos": [tokenizer.bos_token_id], "eos": [tokenizer.eos_token_id], "none": []}[start]
    head = first + tokenizer.encode(given, add_special_tokens=False)
    ids = torch.tensor([head + tokenizer.encode(text, add_special_tokens=False)])
    total, count, before = 0.0, 0, len(head)
    for begin in range(0, ids.shape[1], stride):
        end = min(begin + length, ids.shape[1])
        part = ids[:, begin:end]
        labels = part.clone()
        labels[:, : max(before - begin, 0)] = -100
        scored = int((labels[:, 1:] != -100).sum())  # the loss shifts the labels by one
        if scored:
            total += float(model(input_ids=part, labels=labels).loss.detach()) * scored
            count += scored
        before = max(before, end)
        if end == ids.shape[1]:
            break
    return total, count


CASES = [("gpt2", "bos"), ("llama", "eos"), ("bare", "none")]


@pytest.mark.parametrize(("model", "start"), CASES)
@pytest.mark.parametrize("batch_tokens", [1, 2048])
def test_agrees_with_a_plain_loop(folders: dict[str, Path], model: str, start: str, batch_tokens: int) -> None:
    metric = Perplexity(str(folders[model]), batch_tokens=batch_tokens, device="cpu")
    rows = metric.statistics(Batch(TEXTS, []))
    assert metric.definition()["start"] == start
    for text, row in zip(TEXTS, rows, strict=True):
        nll, tokens = plain(folders[model], text, start)
        if tokens:
            assert row[:2] == pytest.approx([nll, tokens], rel=1e-5)
            assert row[2] == len(text.encode()) or start == "none"
        else:
            assert np.isnan(row).all()  # one token, and nothing before it


@pytest.mark.parametrize(("model", "start"), CASES)
@pytest.mark.parametrize(("length", "stride"), [(24, 12), (24, 23), (9, 1), (60, None)])
def test_long_texts_by_a_sliding_window(
    folders: dict[str, Path], model: str, start: str, length: int, stride: int | None
) -> None:
    text = "the cats are running in the rain, it is raining on the dogs " * 4
    metric = Perplexity(str(folders[model]), max_length=length, stride=stride, device="cpu")
    row = metric.statistics(Batch([text], []))[0]
    assert row[:2] == pytest.approx(plain(folders[model], text, start, length, stride or length // 2), rel=1e-5)
    whole = len(metric._pretrained.tokenizer.encode(text, add_special_tokens=False))
    assert row[1] == (whole if start != "none" else whole - 1)
    assert metric.definition() | {"max_length": str(length), "stride": str(stride or 30)} == metric.definition()


@pytest.mark.parametrize("length", [2, 3, 7])
def test_every_token_is_counted_once(length: int) -> None:
    for stride in range(1, length):
        for tokens in range(30):
            seen = [t for _, end, scored in windows(tokens, length, stride) for t in range(end - scored, end)]
            assert seen == list(range(1, tokens))
            assert all(0 <= end - begin <= length for begin, end, _ in windows(tokens, length, stride))


@pytest.fixture(scope="module")
def kept(folders: dict[str, Path]) -> Perplexity:
    return Perplexity(str(folders["gpt2"]), device="cpu")


@settings(max_examples=25)
@given(text=hostile)
def test_hostile_text(kept: Perplexity, folders: dict[str, Path], text: str) -> None:
    text = text.replace("\0", "")
    row = kept.statistics(Batch([text], []))[0]
    if not text:
        assert np.isnan(row).all()
        return
    assert row[:2] == pytest.approx(plain(folders["gpt2"], text, "bos", 60, 30), rel=1e-5)
    assert row[2] == len(text.encode())


def test_rows_do_not_depend_on_the_texts_beside_them(folders: dict[str, Path]) -> None:
    many = [f"{text} {i}" for i in range(4) for text in TEXTS]
    for dtype in ("float32", "bfloat16"):
        metric = Perplexity(str(folders["llama"]), dtype=dtype, device="cpu")
        together = metric.statistics(Batch(many, []))
        assert together.tobytes() == metric.statistics(Batch(many[::-1], []))[::-1].tobytes()
        alone = np.concatenate([metric.statistics(Batch([text], [])) for text in many])
        assert together[:, 1:].tolist() == alone[:, 1:].tolist()
        assert together[:, 0] == pytest.approx(alone[:, 0], rel=1e-6)  # on this machine equal to the last bit


def test_half_precision_has_its_own_signature(folders: dict[str, Path]) -> None:
    full, half = (Perplexity(str(folders["llama"]), dtype=dtype, device="cpu") for dtype in ("float32", "bfloat16"))
    assert half.score(half.statistics(Batch(TEXTS[:3], [])).sum(0)) == pytest.approx(
        full.score(full.statistics(Batch(TEXTS[:3], [])).sum(0)), rel=0.02
    )
    assert half.definition() == {**full.definition(), "dtype": "bfloat16"}


def test_a_large_vocabulary_makes_small_batches(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Perplexity(str(folders["gpt2"]), device="cpu")
    expected = metric.statistics(Batch(TEXTS, []))
    shapes = []
    model = metric._loaded[1]
    model.register_forward_hook(lambda _module, _inputs, out: shapes.append(out.logits.shape))
    monkeypatch.setattr(perplexity, "LOGITS", 16 * 300)
    assert metric.statistics(Batch(TEXTS, [])) == pytest.approx(expected, rel=1e-6, nan_ok=True)
    assert all(rows * width <= 16 or rows == 1 for rows, width, _ in shapes)
    assert sum(rows for rows, _, _ in shapes) == len(set(TEXTS))  # each distinct text once


# ---------------------------------------------------------------- scores


def uniform(folder: Path, pieces: list[str]) -> Path:
    """A model that gives each of its tokens, pieces of equal length, the same probability."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({piece: i for i, piece in enumerate(pieces)}, unk_token="?"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("." * len(pieces[0])), "isolated")
    PreTrainedTokenizerFast(tokenizer_object=core).save_pretrained(folder)
    model = llama(len(pieces))
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    model.save_pretrained(folder)
    return folder


def test_bits_per_byte_can_be_compared_between_tokenizers(tmp_path: Path) -> None:
    letters = uniform(tmp_path / "letters", list("abcd"))
    pairs = uniform(tmp_path / "pairs", [a + b for a in "abcd" for b in "abcd"])
    outputs = ["abcdabcd", "ddcc", "ab" * 200]
    for folder, by_hand in ((letters, [4.0, 2.0]), (pairs, [16.0, 2.0])):  # 2 bits a letter of four, 4 a pair
        metric = Perplexity(str(folder), device="cpu")
        rows = metric.statistics(Batch(outputs, []))
        assert metric.score(rows.sum(0)) == pytest.approx(by_hand, rel=1e-6)
        assert metric.score_examples(rows) == pytest.approx(np.array([by_hand] * 3), rel=1e-6)
    assert rows[:, 1:].tolist() == [[3, 6], [1, 2], [199, 398]]  # the first token is not scored, its bytes do not count


def test_a_first_token_inside_a_character_takes_no_bytes_away(folders: dict[str, Path]) -> None:
    metric = Perplexity(str(folders["bare"]), device="cpu")
    assert metric.statistics(Batch(["👍", "zz", "é"], []))[:, 1:].tolist() == [[3, 4], [1, 1], [1, 2]]


def test_a_text_without_tokens_is_missing(folders: dict[str, Path]) -> None:
    from tokenizers import normalizers

    for model in ("bare", "llama"):
        metric = Perplexity(str(folders[model]), of="references", device="cpu")
        expected = metric.statistics(Batch(["", ""], [["the cat"], [""]]))
        metric._pretrained.tokenizer.backend_tokenizer.normalizer = normalizers.Strip()  # as some tokenizers do
        assert metric.statistics(Batch(["", ""], [["the cat", " \n"], ["\t"]])) == pytest.approx(expected, nan_ok=True)
        assert np.isnan(expected[1]).all() and not np.isnan(expected[0]).any()


def test_the_pooled_mean_under_every_resample(folders: dict[str, Path]) -> None:
    metric = Perplexity(str(folders["gpt2"]), device="cpu")
    rows = metric.statistics(Batch(TEXTS, []))
    assert metric.score(rows.sum(0))[0] == pytest.approx(math.exp(rows[:, 0].sum() / rows[:, 1].sum()), rel=1e-12)
    assert metric.score(rows.sum(0))[1] == pytest.approx(rows[:, 0].sum() / math.log(2) / rows[:, 2].sum(), rel=1e-12)
    assert metric.score(rows.sum(0))[0] != pytest.approx(metric.score_examples(rows)[:, 0].mean(), rel=0.01)
    counts = np.random.default_rng(0).multinomial(len(TEXTS), np.full(len(TEXTS), 1 / len(TEXTS)), size=8)
    for weights, score in zip(counts, metric.score_weighted(counts, Rows(rows)), strict=True):
        drawn = [text for text, weight in zip(TEXTS, weights, strict=True) for _ in range(weight)]
        assert score == pytest.approx(metric.score(metric.statistics(Batch(drawn, [])).sum(0)), rel=1e-9)


def test_scores_are_finite_or_missing() -> None:
    metric = Perplexity("any/model")
    for sums in ([0, 0, 0], [800.0, 1, 1], [np.nan] * 3):
        assert np.isnan(metric.score(np.array(sums, float))[0])
    assert metric.score(np.zeros((2, 5, 3))).shape == (2, 5, 2)
    assert metric.score(np.array([700.0, 1, 1]))[0] == pytest.approx(math.exp(700))


def test_an_infinite_likelihood_is_an_error(folders: dict[str, Path]) -> None:
    metric = Perplexity(str(folders["gpt2"]), device="cpu")
    metric._loaded[1].lm_head.weight.data[:] = np.nan
    with pytest.raises(
        HarnessError, match=r"in float32 gives the text 'a' the negative log likelihood nan; expected a finite"
    ):
        metric.statistics(Batch(["a"], []))


# ---------------------------------------------------------------- whose perplexity


def test_references_and_sources_as_a_yardstick(folders: dict[str, Path]) -> None:
    where = str(folders["gpt2"])
    outputs, sources = ["it rains", "a cat", "dogs"], ["rain?", None, "bark"]
    references = [["it is raining", "rain"], ["the cat", ""], ["", ""]]
    metric = Perplexity(where, of=["outputs", "references"], device="cpu")
    rows = metric.statistics(Batch(outputs, references, sources))
    single = Perplexity(where, device="cpu")
    flat = single.statistics(Batch(["it rains", "a cat", "it is raining", "rain", "the cat"], []))
    assert rows[:2, :3].tolist() == flat[:2].tolist()
    assert rows[:2, 3:].tolist() == [(flat[2] + flat[3]).tolist(), flat[4].tolist()]
    assert np.isnan(rows[2]).all()  # no reference with a token: left out of both, so that both are of the same examples
    assert metric.score_names == (
        "perplexity", "perplexity.bits_per_byte", "perplexity.references", "perplexity.references_bits_per_byte",
    )  # fmt: skip
    assert metric.score(rows[:2].sum(0))[2:] == pytest.approx(single.score(flat[2:].sum(0)))
    assert str(metric.signature(references)).startswith("nrefs:2|model:gpt2@")
    assert metric.needs_references and not single.needs_references

    of_sources = Perplexity(where, of="sources", device="cpu")
    assert np.isnan(of_sources.statistics(Batch(outputs, [], sources))[1]).all()
    assert (of_sources.columns, of_sources.score_names) == (single.columns, single.score_names)
    assert metric.columns[3:] == ("references_nll", "references_tokens", "references_bytes")
    assert of_sources.definition() == {**single.definition(), "of": "sources"}


def test_signature(folders: dict[str, Path]) -> None:
    metric = Perplexity(str(folders["gpt2"]))
    signature = str(metric.signature([[], []]))
    assert signature.startswith(
        f"model:gpt2@{metric._pretrained.fingerprint[:8]}|of:outputs|start:bos|max_length:60|stride:30|"
    )
    assert "|dtype:float32|torch:" in signature and "|transformers:" in signature
    assert "_loaded" not in vars(metric)  # the tokenizer and the config are enough
    assert Perplexity(str(folders["gpt2"]), start="none").definition()["start"] == "none"
    assert Perplexity(str(folders["gpt2"]), start="eos").definition()["start"] == "eos"


def test_evaluate_counts_an_empty_output_as_missing(folders: dict[str, Path]) -> None:
    advances: list[int] = []
    metric = Perplexity(str(folders["gpt2"]), device="cpu")
    metric.advance = advances.append
    metric.statistics(Batch(TEXTS, []))
    metric.statistics(Batch(["", ""], []))
    assert sum(advances) == len(TEXTS) + 2
    spec = {"perplexity": {"model": str(folders["gpt2"]), "device": "cpu"}}
    result = harness.evaluate(["the cat", "", "it rains"], [[], [], []], spec, resamples=200)
    score = result.scores["perplexity"]
    assert score.estimate is not None and score.low is not None and score.high is not None
    assert 1 <= score.low <= score.estimate <= score.high
    assert not score.higher_is_better
    assert result.examples["perplexity"].isna().tolist() == [False, True, False]
    without = harness.evaluate(["the cat", "it rains"], [[], []], spec, resamples=0)
    assert without.scores["perplexity"].estimate == score.estimate
    none = harness.evaluate(["", ""], [[], []], spec, resamples=0).scores["perplexity"]
    assert (none.estimate, none.note) == (None, "no example could be scored")


def test_command_line(cli: Callable[..., Any], tmp_path: Path, folders: dict[str, Path]) -> None:
    metric = Perplexity(str(folders["gpt2"]), device="cpu")
    candidates = [f"the {a} {b} {c}" for a in ("cat", "dog", "rain", "snow") for b in "xyz!?" for c in (1, 22, 333)]
    order = np.argsort(metric.score_examples(metric.statistics(Batch(candidates, [])))[:, 0])
    half = len(order) // 2
    write_jsonl(tmp_path / "dev.jsonl", [{"id": str(i), "source": "s"} for i in range(half)])
    for name, chosen in (("likely", order[:half]), ("unlikely", order[half:])):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"id": str(i), "output": candidates[k]} for i, k in enumerate(chosen)])
        done = cli(
            "run", "dataset=file", "dataset.path=dev.jsonl", "system=predictions", f"system.path={name}.jsonl",
            f"name={name}", "metrics=perplexity", f"metrics.perplexity.model={folders['gpt2']}", "stats.resamples=500",
            "tracking=none", "metrics.perplexity.device=cpu", "metrics.perplexity.of=[outputs,sources]",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "Perplexity sources_bits_per_byte" in done.out
    compared = cli("compare", "likely", "--baseline", "unlikely", "--json")
    assert compared.code == 0, compared.err
    (comparison,) = json.loads(compared.out)["comparisons"]
    assert (comparison["score"], comparison["verdict"]) == ("perplexity", "better")
    assert comparison["difference"] < 0


def test_command_line_without_a_model(cli: Callable[..., Any]) -> None:
    for more, expected in (
        ([], "metrics.perplexity.model is not set; expected metrics.perplexity.model=…"),
        (
            ["metrics.perplexity.model=./nowhere"],
            "metrics.perplexity.model=./nowhere does not exist; expected one of: a folder",
        ),
    ):
        done = cli("run", "metrics=perplexity", "tracking=none", *more)
        assert done.code == 1
        assert expected in done.err
        assert "Traceback" not in done.err


# ---------------------------------------------------------------- what is refused


WAYS = r"expected one of: a folder .*\(metrics.perplexity.model=DIR\), package:NAME/PATH .*, a hub name while online"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "./nowhere"}, rf"metrics.perplexity.model=./nowhere does not exist; {WAYS}"),
        ({"model": "no/such-model"}, rf"no/such-model: not a folder here, and not available from the model hub .*; {WAYS}"),
        ({"model": "package:nope_nope/x.gguf"}, rf"nope_nope is not installed; {WAYS}"),
        ({"of": "inputs"}, "metrics.perplexity.of=inputs; expected one or more of outputs, references, sources"),
        ({"of": []}, r"metrics.perplexity.of=\[\]; expected"),
        ({"of": ["outputs", "outputs"]}, "expected one or more of"),
        ({"start": "cls"}, "metrics.perplexity.start=cls; expected one of auto, bos, eos, none"),
        ({"batch_tokens": 0}, "metrics.perplexity.batch_tokens=0; expected at least 1"),
        ({"dtype": "int8"}, "metrics.perplexity.dtype=int8; expected one of float32, bfloat16, float16"),
        ({"max_length": 61}, "metrics.perplexity.max_length=61; expected 2 to 60"),
        ({"max_length": 1}, "metrics.perplexity.max_length=1; expected 2 to 60"),
        ({"stride": 60}, "metrics.perplexity.stride=60; expected 1 to 59, less than max_length=60"),
        ({"stride": 0}, "metrics.perplexity.stride=0; expected 1 to 59"),
    ],
)  # fmt: skip
def test_bad_options(folders: dict[str, Path], options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError, match=expected):
        Perplexity(**{"model": str(folders["gpt2"]), **options}).definition()


def test_a_start_token_that_the_tokenizer_has_not(folders: dict[str, Path]) -> None:
    with pytest.raises(
        HarnessError, match="start=bos: the tokenizer of .*llama has no bos token; expected one of auto, eos, none"
    ):
        Perplexity(str(folders["llama"]), start="bos").definition()


def test_pickles_by_name_only(folders: dict[str, Path], tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = shutil.copytree(folders["llama"], tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(AutoModelForCausalLM.from_pretrained(folders["llama"]).state_dict(), folder / "pytorch_model.bin")
    refused = Perplexity(str(folder), device="cpu")
    with pytest.raises(HarnessError, match="metrics.perplexity.pickle=pytorch_model.bin if you trust it"):
        refused.definition()
    with pytest.raises(HarnessError, match="cannot be loaded: .*model.safetensors"):
        refused.statistics(Batch(TEXTS, []))
    allowed = Perplexity(str(folder), pickle="pytorch_model.bin", device="cpu")
    assert allowed.definition()["model"].startswith("pickled@")
    safe = Perplexity(str(folders["llama"]), device="cpu")
    assert allowed.statistics(Batch(TEXTS, [])).tobytes() == safe.statistics(Batch(TEXTS, [])).tobytes()


def test_code_of_a_model_runs_only_on_request(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(folders["bare"], tmp_path / "custom")
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(
        "from pathlib import Path\nfrom transformers import LlamaConfig, LlamaForCausalLM\n"
        f"Path({str(ran)!r}).touch()\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'own'\n"
        "class Own(LlamaForCausalLM):\n    config_class = OwnConfig\n"
    )
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(HarnessError, match="cannot be loaded: .*trust_remote_code"):
        Perplexity(str(folder), device="cpu").statistics(Batch(["the cat"], []))
    assert not ran.exists()
    trusted = Perplexity(str(folder), trust_remote_code=True, device="cpu").statistics(Batch(["the cat"], []))
    assert ran.exists()
    assert (
        trusted.tolist() == Perplexity(str(folders["bare"]), device="cpu").statistics(Batch(["the cat"], [])).tolist()
    )


def test_models_that_are_not_causal(tmp_path: Path) -> None:
    import transformers as t

    tokenizer = words("bytes", bos_token=END)
    n = len(tokenizer)
    bert = t.BertConfig(vocab_size=n, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    t5 = t.T5Config(vocab_size=n, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4)
    bart = t.BartConfig(
        vocab_size=n, d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=32, decoder_ffn_dim=32,
        encoder_attention_heads=4, decoder_attention_heads=4,
    )  # fmt: skip
    for name, model, expected in (
        (
            "bert",
            t.BertLMHeadModel(bert),
            "is a BertLMHeadModel that sees the tokens it should predict; expected a causal",
        ),
        (
            "t5",
            t.T5ForConditionalGeneration(t5),
            f"cannot be loaded: Unrecognized configuration class .*T5Config.*{WAYS}",
        ),
        (
            "bart",
            t.BartForConditionalGeneration(bart),
            "bart has no weights for 'lm_head.weight', .*; expected a whole BartForCausalLM",
        ),
        ("headless", llama(n).model, "headless has no weights for 'lm_head.weight'; expected a whole LlamaForCausalLM"),
    ):
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        with pytest.raises(HarnessError, match=expected):
            Perplexity(str(tmp_path / name), device="cpu").statistics(Batch(["the cat"], []))


# ---------------------------------------------------------------- given source and contexts


@pytest.mark.parametrize(("model", "start"), CASES)
def test_given_source_and_contexts(folders: dict[str, Path], model: str, start: str) -> None:
    outputs, sources = ["a mat", "it rains", "a"], ["the cat sat on", "is it raining", None]
    contexts = Contexts.of([["cats sit", {"id": "7", "text": "on mats"}], [], ["b"]])
    metric = Perplexity(str(folders[model]), given=["contexts", "sources"], device="cpu")
    rows = metric.statistics(Batch(outputs, [], sources, passages={"contexts": contexts}))
    before = ["cats sit\n\non mats\n\nthe cat sat on\n\n", "is it raining\n\n", "b\n\n"]
    alone = Perplexity(str(folders[model]), device="cpu").statistics(Batch(outputs, []))
    for i, text in enumerate(outputs):
        if np.isnan(alone[i]).any():  # a single token, with nothing before it: no yardstick
            assert np.isnan(rows[i]).all()
            continue
        assert rows[i, :3].tolist() == alone[i].tolist()  # the plain one stays
        nll, tokens = plain(folders[model], text, start, given=before[i])
        assert rows[i, 3:5] == pytest.approx([nll, tokens], rel=1e-5)
        assert rows[i, 5] == len(text.encode())
    assert metric.score_names[2:] == ("conditional_perplexity", "conditional_perplexity.bits_per_byte")
    scores = metric.score(rows[:2].sum(0))
    assert scores[2] == pytest.approx(math.exp(rows[:2, 3].sum() / rows[:2, 4].sum()))
    assert metric.reads == ("outputs", "contexts", "sources")
    assert "|given:contexts+sources|" in str(metric.signature([]))
    assert metric.title_of("conditional_perplexity.bits_per_byte") == "Conditional perplexity bits_per_byte"


@pytest.mark.parametrize(("length", "stride"), [(16, 8), (9, 1), (30, 29)])
def test_more_than_a_window_stands_before(
    folders: dict[str, Path], length: int, stride: int, caplog: pytest.LogCaptureFixture
) -> None:
    """By the same sliding windows: each token of the output once, in the first window that holds it."""
    metric = Perplexity(str(folders["gpt2"]), given="sources", max_length=length, stride=stride, device="cpu")
    source, text = "the cat sat on the mat " * 4, "it is raining and dogs bark"
    row = metric.statistics(Batch([text], [], [source]))[0]
    expected = plain(folders["gpt2"], text, "bos", length, stride, given=source + "\n\n")
    assert row[3:5] == pytest.approx(expected, rel=1e-5)
    assert f"1 output, with what stands before, longer than a window of {length} tokens" in caplog.text


def test_nothing_stands_before(folders: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    metric = Perplexity(str(folders["gpt2"]), given=["sources", "contexts"], device="cpu")
    rows = metric.statistics(
        Batch(["a mat", "a cat"], [], [None, "the"], passages={"contexts": Contexts.of([None, None])})
    )
    assert np.isnan(rows).all(axis=1).tolist() == [True, False]
    assert "1 of 2 examples have no sources and no contexts to stand before the output" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"given": "references"}, "metrics.perplexity.given=references; expected one or both of sources, contexts"),
        ({"given": ["sources", "sources"]}, "expected one or both of sources, contexts, or none"),
        (
            {"given": "sources", "of": "references"},
            "metrics.perplexity.given=sources with of=references; expected of=outputs",
        ),
    ],
)
def test_what_cannot_be_given(options: dict[str, Any], message: str) -> None:
    with pytest.raises(HarnessError) as raised:
        Perplexity("any/model", **options)
    assert message in str(raised.value)
