"""BERTScore against the package bert-score, on the packaged model and on tiny random ones of several architectures."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.datasets.embedded import EmbeddedDataset
from harness.inputs.pretrained import MINILM, PACKAGED, Pretrained
from harness.metrics import bertscore
from harness.metrics.bertscore import BertScore
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError
from tests.metrics import tiny

OUTPUTS = ["the fox jumps over a dog", "ships waited outside", "Numbers, like 4.5!", "a dog", "the budget will pass"]
REFERENCES = [
    ["the quick brown fox jumped", "a lazy dog"],
    ["a storm closed ships", "the ships waited"],
    ["words with numbers 3.5", "punctuation!"],
    ["the fox", "a dog"],
    ["The committee will vote", "next week"],
]
FOLDER = str(Pretrained(MINILM, "metrics.bertscore.model").location)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    made: dict[str, str] = {}

    def of(kind: str) -> str:
        if kind not in made:
            made[kind] = str(tiny.make(kind, tmp_path_factory.mktemp("models") / kind))
        return made[kind]

    return of


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[list[str]]]:
    examples = list(EmbeddedDataset().examples())[::12]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    return outputs, [list(example.references) for example in examples]


def theirs(model: str, layer: int, outputs: list[str], references: list[Any], **options: Any) -> np.ndarray:
    """(3, …, n): precision, recall and F1 by bert-score, pair by pair.

    In a padded batch it takes 0 for the similarity to padding, so that a token none is similar to gains by it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        with contextlib.chdir(Path(model).parent):  # it takes "t5" anywhere in the path for the architecture
            name = Path(model).name
            scorer = BERTScorer(model_type=name, num_layers=layer, device="cpu", nthreads=0, **options)

        def pair_scores(output: str, reference: str) -> np.ndarray:
            return np.stack([np.asarray(part) for part in scorer.score([output], [reference])])

        several = [[refs] if isinstance(refs, str) else refs for refs in references]
        pairs = zip(outputs, several, strict=True)
        return np.concatenate(
            [np.max([pair_scores(output, r) for r in refs], axis=0) for output, refs in pairs], axis=-1
        )


def ours(metric: BertScore, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    return metric.fit(references).statistics(Batch(outputs, references))


# ---------------------------------------------------------------- agreement


@pytest.mark.parametrize("layer", [5, 3])
def test_the_packaged_model(pairs: tuple[list[str], list[list[str]]], layer: int) -> None:
    outputs, references = pairs
    each = [theirs(FOLDER, layer, outputs, [refs[i] for refs in references]) for i in range(2)]
    metric = BertScore(layer=layer, device="cpu")
    rows = ours(metric, outputs, references)
    best = np.stack([triple[2] for triple in each]).argmax(0)  # one coherent triple: the reference of the highest F1
    for column, part in ((0, 2), (1, 0), (2, 1)):
        values = np.stack([triple[part] for triple in each])
        assert rows[:, column] == pytest.approx(values[best, np.arange(len(best))], abs=1e-5)
    assert metric.score(rows.sum(0))[:3] == pytest.approx(rows[:, :3].mean(0), abs=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in tiny.KINDS if kind != "gpt2"])
@pytest.mark.parametrize("layer", [1, 3])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_architectures(folder: Callable[[str], str], kind: str, layer: int) -> None:
    """Independent maxima over references are the package's rule."""
    metric = BertScore(folder(kind), layer=layer, references="independent", device="cpu")
    expected = theirs(folder(kind), layer, OUTPUTS, REFERENCES)
    assert ours(metric, OUTPUTS, REFERENCES)[:, :3] == pytest.approx(expected[[2, 0, 1]].T, abs=1e-5)


def test_weights_that_lack_a_layer_that_is_used_are_refused(folder: Callable[[str], str], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder("bert"), tmp_path / "half")
    weights = load_file(tmp_path / "half" / "model.safetensors")
    kept = {name: tensor for name, tensor in weights.items() if "layer.1." not in name and "pooler" not in name}
    save_file(kept, tmp_path / "half" / "model.safetensors", {"format": "pt"})
    half = BertScore(str(tmp_path / "half"), layer=2, device="cpu")
    with pytest.raises(HarnessError, match=r"half has no weights for 'encoder.layer.1.* expected a whole BertModel"):
        half.statistics(Batch(OUTPUTS, REFERENCES))
    below, whole = (BertScore(str(place), layer=1, device="cpu") for place in (tmp_path / "half", folder("bert")))
    np.testing.assert_array_equal(*(made.statistics(Batch(OUTPUTS, REFERENCES)) for made in (below, whole)))


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_idf(folder: Callable[[str], str], kind: str) -> None:
    flat = [reference for refs in REFERENCES for reference in refs]
    expected = theirs(folder(kind), 2, OUTPUTS, REFERENCES, idf=True, idf_sents=flat)
    metric = BertScore(folder(kind), layer=2, idf=True, references="independent", device="cpu")
    assert ours(metric, OUTPUTS, REFERENCES)[:, :3] == pytest.approx(expected[[2, 0, 1]].T, abs=1e-5)


def test_all_layers(folder: Callable[[str], str]) -> None:
    expected = theirs(folder("bert"), 3, OUTPUTS, [refs[0] for refs in REFERENCES], all_layers=True)  # (3, layers, n)
    metric = BertScore(folder("bert"), layer=2, all_layers=True, device="cpu")
    rows = ours(metric, OUTPUTS, [refs[:1] for refs in REFERENCES])
    for layer in range(4):
        for part, suffix in ((2, ""), (0, ".precision"), (1, ".recall")):
            column = metric.score_names.index(f"bertscore.layer{layer}{suffix}")
            assert rows[:, column] == pytest.approx(expected[part, layer], abs=1e-5)
    assert rows[:, 0].tolist() == rows[:, metric.score_names.index("bertscore.layer2")].tolist()


def test_rescaling(folder: Callable[[str], str], tmp_path: Path) -> None:
    file = tmp_path / "baseline.tsv"
    file.write_text("LAYER,P,R,F\n" + "".join(f"{i},0.{i}1,0.{i}2,0.{i}3\n" for i in range(4)))
    expected = theirs(
        folder("bert"), 2, OUTPUTS, REFERENCES, rescale_with_baseline=True, lang="en", baseline_path=str(file)
    )
    metric = BertScore(folder("bert"), layer=2, rescale=str(file), references="independent", device="cpu")
    assert ours(metric, OUTPUTS, REFERENCES)[:, :3] == pytest.approx(expected[[2, 0, 1]].T, abs=1e-5)
    assert metric.definition()["rescale"] != "no"


def test_baselines_of_the_package(folder: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    import bert_score
    import pandas as pd

    metric = BertScore("roberta-large", rescale="en")
    metric.pretrained.__dict__["config"] = {"num_hidden_layers": 24}  # the model itself is not here
    table = pd.read_csv(Path(bert_score.__file__).parent / "rescale_baseline" / "en" / "roberta-large.tsv")
    assert metric._layer == 17
    assert metric._baseline is not None
    assert metric._baseline[17].tolist() == table.iloc[17, 1:].tolist()
    with pytest.raises(
        HarnessError, match="rescale=xx: bert-score has no baseline for .* expected a language it has one"
    ):
        BertScore(folder("bert"), rescale="xx").definition()


def test_layers_by_name_are_the_packages() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score.utils import model2layers
    table = json.loads((Path(bertscore.__file__).parent / "bertscore_layers.json").read_text())
    assert {name: layer for name, layer in table.items() if name != MINILM} == model2layers


def test_a_decoder_by_the_formula(folder: Callable[[str], str]) -> None:
    """The package cannot take GPT-2 on transformers 5; the formula on the same vectors, no special tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder("gpt2")).eval(), AutoTokenizer.from_pretrained(folder("gpt2"))
    model.h = model.h[:2]
    vectors = []
    for text in (OUTPUTS[0], REFERENCES[0][0]):
        with torch.inference_mode():
            hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        vectors.append(hidden / np.linalg.norm(hidden, axis=1, keepdims=True))
    similar = vectors[0] @ vectors[1].T
    precision, recall = similar.max(1).mean(), similar.max(0).mean()
    row = ours(BertScore(folder("gpt2"), layer=2, device="cpu"), OUTPUTS[:1], [REFERENCES[0][:1]])[0]
    assert row[:3] == pytest.approx([2 * precision * recall / (precision + recall), precision, recall], abs=1e-5)


def test_idf_weights_by_hand(folder: Callable[[str], str]) -> None:
    metric = BertScore(folder("bert"), idf=True, device="cpu").fit([["the fox"], ["the dog", "a dog"]])
    ids = {word: metric.pretrained.tokenizer.convert_tokens_to_ids(word) for word in ("the", "fox", "dog")}
    assert metric._weights is not None
    assert metric._weights.known[ids["the"]] == pytest.approx(log(4 / 3))
    assert metric._weights.known[ids["fox"]] == pytest.approx(log(4 / 2))
    assert metric._weights.known[ids["dog"]] == pytest.approx(log(4 / 3))
    assert metric._weights.unseen == pytest.approx(log(4))
    assert metric.context != BertScore(folder("bert"), idf=True).fit([["the fox"], ["the dog"]]).context
    with pytest.raises(HarnessError, match="expected fit"):
        BertScore(folder("bert"), idf=True).statistics(Batch(["a"], [["b"]]))


@pytest.mark.parametrize("references", [[["the fox"]], [["the fox", "fox the"]]])
def test_a_warning_where_no_token_weighs_anything(
    folder: Callable[[str], str], references: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    metric = BertScore(folder("bert"), idf=True, device="cpu").fit(references)
    (fitted,) = caplog.messages
    assert f"idf is fitted to {len(references[0])} reference" in fitted and "all weigh 0" in fitted
    assert "expected more references that differ, or metrics.bertscore.idf=false" in fitted
    rows = metric.statistics(Batch(["a dog"], references))
    assert np.isnan(rows).all()  # missing, not 0
    assert "1 of 1 examples have no score" in caplog.messages[-1]
    caplog.clear()
    BertScore(folder("bert"), idf=True, device="cpu").fit([["the fox"], ["the dog"]])
    BertScore(folder("bert"), device="cpu").fit(references)
    assert not caplog.records


def test_a_reference_without_weight_is_left_out(folder: Callable[[str], str]) -> None:
    metric = BertScore(folder("bert"), idf=True, device="cpu").fit([["the"], ["the dog"], ["the fox ran"]])
    rows = metric.statistics(Batch(["a dog", "", "a dog"], [["the", "the dog"], ["the dog"], ["the dog"]]))
    assert rows[0].tolist() == rows[2].tolist()
    assert rows[1, :3].tolist() == [0.0, 0.0, 0.0]  # an empty text is bad, not unknown
    (alignment,) = metric.align(["a dog"], [["the", "the dog"]])
    assert alignment is not None and alignment.reference == 1


def test_the_mean_over_references(folder: Callable[[str], str]) -> None:
    """As the mean of bert-score's triples with one reference each."""
    each = [theirs(folder("bert"), 2, OUTPUTS, [refs[i] for refs in REFERENCES]) for i in range(2)]
    metric = BertScore(folder("bert"), layer=2, references="average", device="cpu")
    assert ours(metric, OUTPUTS, REFERENCES)[:, :3] == pytest.approx(np.mean(each, axis=0)[[2, 0, 1]].T, abs=1e-5)
    assert "|refs:average|" in str(metric.signature(REFERENCES))


# ---------------------------------------------------------------- without its faults


@pytest.mark.slow
def test_the_same_bits_whatever_the_batch_the_order_and_the_company(pairs: tuple[list[str], list[list[str]]]) -> None:
    outputs, references = pairs
    whole = ours(BertScore(device="cpu"), outputs, references)
    small = ours(BertScore(device="cpu", batch_tokens=1), outputs, references)
    turned = ours(BertScore(device="cpu", batch_tokens=300), outputs[::-1], references[::-1])[::-1]
    alone = np.concatenate(
        [ours(BertScore(device="cpu"), [o], [r]) for o, r in zip(outputs[:4], references, strict=False)]
    )
    assert whole.tobytes() == small.tobytes() == turned.tobytes()
    assert alone.tobytes() == whole[:4].tobytes()


@pytest.mark.slow
def test_hash_seeds_and_threads(pairs: tuple[list[str], list[list[str]]], tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text(json.dumps([pairs[0][:4], pairs[1][:4]]))
    code = (
        "import json, sys, torch; torch.set_num_threads(int(sys.argv[2]));"
        "from harness.metrics.bertscore import BertScore; from harness.types import Batch; o, r = json.load(open(sys.argv[1]));"
        "print(BertScore(device='cpu').statistics(Batch(o, r)).tolist())"
    )
    results = []
    for seed, threads in (("1", "1"), ("2", "1")):
        environment = {**__import__("os").environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, str(tmp_path / "pairs.json"), threads]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        results.append(json.loads(done.stdout))
    assert results[0] == results[1]
    here = ours(BertScore(device="cpu"), pairs[0][:4], pairs[1][:4])  # with as many threads as there are cores
    assert here == pytest.approx(np.array(results[0]), abs=1e-5)


def test_identical_empty_and_long_texts(caplog: pytest.LogCaptureFixture) -> None:
    metric = BertScore(device="cpu")
    long = "word " * 600
    outputs = ["the same text", "", "something", long, " \n"]
    references = [["the same text"], ["something"], [""], [long], ["\t"]]
    rows = ours(metric, outputs, references)
    assert rows[0, :3] == pytest.approx([1, 1, 1], abs=1e-5)
    assert rows[[1, 2, 4], :3].tolist() == [[0, 0, 0]] * 3
    assert rows[3, 0] == pytest.approx(1, abs=1e-5)
    assert rows[:, -2].tolist() == [0, 0, 0, 1, 0]
    assert "1 of 5 examples are longer than 512 tokens and were cut" in caplog.text


def test_truncated_examples_are_named_in_the_run(folder: Callable[[str], str]) -> None:
    options = {"model": folder("bert"), "max_length": 8, "device": "cpu"}
    result = harness.evaluate(
        ["a dog", "the quick brown fox jumps over the lazy dog"],
        ["a fox", "a dog"],
        [{"bertscore": options}],
        resamples=20,
    )
    assert result.examples["bertscore.truncated"].tolist() == [0, 1]
    assert result.scores["bertscore.truncated"].estimate == 0.5
    assert "|max:8|" in result.scores["bertscore"].signature


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_a_tokenizer_without_a_maximum(kind: str, tmp_path: Path) -> None:
    """bert-score ends with an OverflowError (its issue 205)."""
    metric = BertScore(str(tiny.make(kind, tmp_path / kind, max_length=None)), layer=2, device="cpu")
    rows = ours(metric, ["the dog " * 100], [["the dog " * 100]])
    assert rows[0, 0] == pytest.approx(1, abs=1e-5)
    assert rows[0, -2] == (kind == "bert")  # it has 130 positions; T5's are relative


def test_best_triple_is_coherent(folder: Callable[[str], str]) -> None:
    single = [ours(BertScore(folder("bert"), device="cpu"), OUTPUTS, [[r[i]] for r in REFERENCES]) for i in range(2)]
    both = ours(BertScore(folder("bert"), device="cpu"), OUTPUTS, REFERENCES)
    for i, row in enumerate(both):
        assert row[:3].tolist() == max(
            (rows_of_one[i, :3].tolist() for rows_of_one in single), key=lambda triple: triple[0]
        )


class Remembered:
    """A store in memory that counts."""

    def __init__(self) -> None:
        self.items: dict[str, bytes] = {}
        self.put_count = 0

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {key: self.items[key] for key in keys if key in self.items}

    def put(self, items: Mapping[str, bytes]) -> None:
        self.put_count += len(items)
        self.items.update(items)


def test_nothing_is_encoded_twice(folder: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    store = Remembered()

    def scored(outputs: list[str], **options: Any) -> np.ndarray:
        metric = BertScore(folder("bert"), device="cpu", **options)
        metric.arrays = store
        return ours(metric, outputs, REFERENCES)

    first = scored(OUTPUTS)
    texts, pairs = len({*OUTPUTS, *(r for refs in REFERENCES for r in refs)}), sum(map(len, REFERENCES))
    assert store.put_count == texts + pairs
    scored([*OUTPUTS[:4], "something new"])  # a second system: references and what was seen are there
    assert store.put_count == texts + pairs + 1 + len(REFERENCES[4])
    scored(OUTPUTS, layer=1)  # other vectors
    assert store.put_count == 2 * (texts + pairs) + 1 + len(REFERENCES[4])
    monkeypatch.setattr(Pretrained, "load", lambda *_: pytest.fail("the model was loaded"))
    assert scored(OUTPUTS).tobytes() == first.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_stays_near(pairs: tuple[list[str], list[list[str]]], dtype: str) -> None:
    outputs, references = pairs[0][:6], pairs[1][:6]
    full = ours(BertScore(device="cpu"), outputs, references)
    half = ours(BertScore(device="cpu", dtype=dtype), outputs, references)
    assert half[:, :3] == pytest.approx(full[:, :3], abs=0.02)
    assert f"|dtype:{dtype}|" in str(BertScore(dtype=dtype).signature(references))


# ---------------------------------------------------------------- identity and messages


def test_definition_of_the_default() -> None:
    assert str(BertScore().signature([["a", "b"]])).startswith(
        "nrefs:2|model:sentence-transformers/all-MiniLM-L6-v2@0542044a|layer:3|idf:no|rescale:no|refs:best-f|max:model|"
        "dtype:float32|torch:"
    )


def test_weights_of_another_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = hashlib.sha256(b"other").hexdigest()
    monkeypatch.setitem(PACKAGED, MINILM, (PACKAGED[MINILM][0], wrong))
    with pytest.raises(HarnessError, match=f"has the sha256 53aa5117.*; expected {wrong}"):
        BertScore().definition()


def test_only_safetensors_unless_a_pickle_is_named(folder: Callable[[str], str], tmp_path: Path) -> None:
    import shutil

    import torch
    from safetensors.torch import load_file

    shutil.copytree(folder("bert"), tmp_path / "pickled")
    weights = tmp_path / "pickled" / "model.safetensors"
    torch.save(load_file(weights), tmp_path / "pickled" / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(
        HarnessError, match=r"has no \*.safetensors \(it has pytorch_model.bin: metrics.bertscore.pickle="
    ):
        BertScore(str(tmp_path / "pickled")).definition()
    named = BertScore(str(tmp_path / "pickled"), pickle="pytorch_model.bin", device="cpu")
    rows = ours(named, OUTPUTS, REFERENCES)
    assert rows.tolist() == ours(BertScore(folder("bert"), device="cpu"), OUTPUTS, REFERENCES).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "./nowhere"}, "metrics.bertscore.model=./nowhere does not exist; expected one of: a folder"),
        ({"model": "no/such-model"}, "no/such-model: not a folder here, and not available from the model hub"),
        ({"model": "package:nix/x"}, "package:nix/x: nix is not installed; expected one of"),
        ({"layer": 9}, "metrics.bertscore.layer=9; expected 0 to 6"),
        ({"dtype": "int4"}, "metrics.bertscore.dtype=int4; expected one of float32"),
        ({"references": "mean"}, "metrics.bertscore.references=mean; expected one of best, average, independent"),
        ({"batch_tokens": 0}, "metrics.bertscore.batch_tokens=0; expected at least 1"),
    ],
)
def test_bad_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(HarnessError) as raised:
        BertScore(**options).definition()
    assert expected in str(raised.value)


def test_runs_share_vectors(folder: Callable[[str], str], files: Path, cli: Any) -> None:
    """The references of a second system's run are not encoded again."""
    import sqlite3

    arguments = (
        "run",
        "dataset=file",
        "dataset.path=dev.jsonl",
        "system=predictions",
        "metrics=[bertscore]",
        "tracking=none",
    )
    options = (f"metrics.bertscore.model={folder('bert')}", "metrics.bertscore.device=cpu", "stats.resamples=50")
    counts = []
    for name in ("good", "bad"):
        done = cli(*arguments, *options, f"system.path={name}.jsonl")
        assert done.code == 0, done.err
        with sqlite3.connect(files / "runs" / ".cache" / "arrays.sqlite") as connection:
            counts.append(connection.execute("select count(*) from entries").fetchone()[0])
    examples = [json.loads(line) for line in (files / "dev.jsonl").read_text().splitlines()]
    references = {text for example in examples for text in example["references"]}
    texts = [
        {json.loads(line)["output"] for line in (files / f"{n}.jsonl").read_text().splitlines()}
        for n in ("good", "bad")
    ]
    pairs = [
        {(row["id"], row["output"]) for row in map(json.loads, (files / f"{n}.jsonl").read_text().splitlines())}
        for n in ("good", "bad")
    ]
    several = {example["id"]: len(example["references"]) for example in examples}
    seen = [pairs[0], pairs[0] | pairs[1]]
    expected = [len(references | texts[0]), len(references | texts[0] | texts[1])]
    assert counts == [
        count + sum(several[id_] for id_, _ in answered) for count, answered in zip(expected, seen, strict=True)
    ]
