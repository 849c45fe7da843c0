"""`python -m benchmarks.agreement`: the lexical metrics beside published and reference scores, to docs/agreement.md.

The data and its scores lie beside the repository, in ../shared/data, and are no part of it; where they are missing
nothing is written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.metrics.bleu import Bleu
from harness.metrics.chrf import Chrf
from harness.metrics.nist import Nist
from harness.metrics.rouge import Rouge
from harness.metrics.ter import Ter
from harness.types import Batch, Metric

DATA = Path(__file__).parents[2] / "shared" / "data"
PAGE = Path(__file__).parents[1] / "docs" / "agreement.md"
HEAD = ("set", "metric and options", "tool", "values compared", "agree", "largest difference")
SACREBLEU, MULTI_BLEU, MTEVAL, NLTK, PERL = "sacreBLEU", "multi-bleu.perl", "mteval-v13a.pl", "NLTK", "ROUGE-1.5.5.pl"
FULL = 9
"""A value of this many decimals has full precision: compared as it is, to 1e-9."""
ASCII_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
PERL_TYPES = {"W-1.2": "W", "S*": "S", "S4": "S", "SU*": "SU", "SU4": "SU"}
PERL_OPTIONS: dict[str, tuple[str, Any]] = {
    "-2": ("skip", int),
    "-l": ("max_words", int),
    "-b": ("max_bytes", int),
    "-f": ("references", {"A": "average", "B": "best"}.__getitem__),
    "-p": ("alpha", float),
}
Pairs = list[tuple[float, float]]
"""Our value and theirs."""

CUT_OFF = "The digits of the published values are cut off, not rounded; ours are cut off likewise."
CHRF = (
    "The case that differs has the value of chrF without `eps_smoothing` (ours too, to all its digits), while the test "
    "that it comes from sets this option and allows for 1e-4; sacreBLEU 2.6.0 gives ours."
)
GLEU = "Left out: GLEU, which we do not have."
CAPTIONS = (
    "Without the full stops, which pycocoevalcap's tokenizer removes. Left out: METEOR, CIDEr and SPICE, which we do "
    "not have, and ROUGE-L, whose F (beta 1.2) combines the best precision and the best recall of any reference, while "
    "ours takes both from one reference."
)
COMPARE_MT = "Published as whole numbers. Left out: RIBES, which we do not have."
TERCOM = (
    "MultEval calls tercom 0.8.0, our rows are sacreBLEU's; they differ by one edit in all. Run sentence by sentence, "
    "tercom needs one edit less in two of 2,489 and one more in a third: where several shifts save equally many edits, "
    "the two put the words in different places, and the greedy search goes on from there. Left out: METEOR, which we "
    "do not have."
)
PER_EXAMPLE = (
    "Recall, precision and F of each example. The averages that the script prints are means of resamples and are not "
    "compared."
)
WORDNET = (
    "With `-m` the script looks words up in WordNet's table of exceptions (`went`: `go`) before it stems. The table is "
    "not ours to ship; with it put before our stemmer, all values agree."
)


@dataclass(frozen=True)
class Row:
    set: str
    metric: str
    tool: str
    examples: list[Pairs]
    """One list for each example, or a single one where scores are those of a corpus."""
    decimals: int = 0
    """So many the tool prints at least: JSON drops zeros at the end."""
    truncated: bool = False
    """The tool's digits are cut off, not rounded."""
    notes: tuple[str, ...] = ()

    def difference(self, ours: float, theirs: float) -> float:
        """Between values as the tool prints them."""
        decimals = max(self.decimals, len(str(theirs).partition(".")[2]))
        if decimals < FULL:
            ours = math.floor(ours * 10**decimals) / 10**decimals if self.truncated else round(ours, decimals)
        return abs(ours - theirs)

    def cells(self) -> list[str]:
        differences = [[self.difference(*pair) for pair in pairs] for pairs in self.examples]
        flat = [difference for example in differences for difference in example]
        agree = f"{sum(d <= 1e-9 for d in flat):,}"
        differing = sum(not all(d <= 1e-9 for d in example) for example in differences)
        if differing and len(differences) > 1:
            agree += f" ({differing:,} of {len(differences):,} examples differ)"
        largest = max(flat)
        shown = f"{largest:.0e}" if 0 < largest <= 1e-9 else f"{largest:.6f}".rstrip("0").rstrip(".")
        return [self.set, self.metric, self.tool, f"{len(flat):,}", agree, shown]


# ---------------------------------------------------------------- reading and scoring


def goldens(name: str, file: str = "goldens.json") -> Any:
    return json.loads((DATA / name / file).read_text(encoding="utf-8"))


def read(name: str, system: str) -> tuple[list[str], list[list[str]]]:
    """Outputs and references, in the order of the examples."""
    files = (DATA / name / "examples.jsonl", DATA / name / "systems" / f"{system}.jsonl")
    examples, given = ([json.loads(line) for line in file.open(encoding="utf-8")] for file in files)
    outputs = {row["id"]: row["output"] for row in given}
    return [outputs[example["id"]] for example in examples], [example["references"] for example in examples]


def by_example(streams: Sequence[Sequence[str]]) -> list[list[str]]:
    """From sacreBLEU's layout, a list for each reference."""
    return [list(references) for references in zip(*streams, strict=True)]


def corpus(metric: Metric, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    rows = metric.statistics(Batch(outputs, references))
    return dict(zip(metric.score_names, metric.score(rows.sum(0)).tolist(), strict=True))


def sentence(metric: Metric, output: str, references: Sequence[str]) -> float:
    return float(metric.score_examples(metric.statistics(Batch([output], [references])))[0, 0])


# ---------------------------------------------------------------- BLEU, chrF, NIST, TER


def wmt22() -> Iterator[Row]:
    name, scores = "wmt22_de-en", goldens("wmt22_de-en")["scores"]
    which = {"A": slice(0, 1), "B": slice(1, 2), "all": slice(0, 2)}
    for label, metric in (("BLEU", Bleu()), ("chrF", Chrf())):
        pairs: Pairs = []
        for system, theirs in scores.items():
            outputs, references = read(name, system)
            for key, part in which.items():
                ours = corpus(metric, outputs, [refs[part] for refs in references])
                pairs.append((ours[metric.name], theirs[f"{metric.name}-{key}"]))
        yield Row(name, f"corpus {label}; {len(scores)} systems, reference A, B, both", SACREBLEU, [pairs], FULL)


def wmt15() -> Iterator[Row]:
    name, orders = "nltk_wmt15_enru", range(9)
    theirs = goldens(name)
    alone, together, overall = (theirs[k] for k in ("individual_1_to_9_gram", "cumulative_1_to_9_gram", "overall"))
    outputs, references = read(name, "google")
    nist = [corpus(Nist(max_order=n + 1), outputs, references) for n in orders]
    pairs = [(nist[8][f"nist.n{n + 1}"], alone["NIST"][n]) for n in orders]
    pairs += [(nist[n]["nist"], together["NIST"][n]) for n in orders]
    yield Row(name, "NIST; orders 1 to 9, individual and cumulative", MTEVAL, [pairs], 4)

    outputs = [text.translate(ASCII_LOWER) for text in outputs]
    references = [[text.translate(ASCII_LOWER) for text in refs] for refs in references]
    bleu = [corpus(Bleu(smooth_method="none", max_order=n + 1), outputs, references) for n in orders]
    pairs = [(bleu[8][f"bleu.p{n + 1}"] / 100, alone["BLEU"][n]) for n in orders]  # the brevity penalty is 1
    pairs += [(bleu[n]["bleu"] / 100, together["BLEU"][n]) for n in orders]
    label = "BLEU of ASCII-lower-cased text, smooth none; orders 1 to 9, individual and cumulative"
    yield Row(name, label, MTEVAL, [pairs], 4)
    lengths = {"ratio": "length_ratio", "sys_len": "sys_len", "ref_len": "ref_len"}
    pairs = [(bleu[3][f"bleu.{key}"], overall[other]) for key, other in lengths.items()]
    yield Row(name, "BLEU's lengths and their ratio", MTEVAL, [pairs], FULL)


def sacrebleu_corpus_bleu() -> Iterator[Row]:
    name, cases = "sacrebleu_inline", goldens("sacrebleu_inline")["bleu"]
    hyps, refs = cases["readme_hyps"], by_example(cases["readme_refs"])
    pairs: Pairs = []
    for case in cases["corpus_bleu"]:
        option, _, value = case["settings"].partition("=")
        options: dict[str, Any] = {option: value} if value else {}
        outputs = [""] * len(hyps) if "empty" in option else hyps
        pairs.append((corpus(Bleu(**options), outputs, refs)["bleu"], case["score"]))
    yield Row(name, "corpus BLEU; tokenize, smooth none, empty outputs", SACREBLEU, [pairs], 6)
    orders = cases["max_ngram_order"].items()
    pairs = [(corpus(Bleu(max_order=int(n)), hyps, refs)["bleu"], score) for n, score in orders]
    yield Row(name, "corpus BLEU; max_order 1 to 6", SACREBLEU, [pairs], 2)

    def floor(case: Mapping[str, Any], value: float) -> float:
        metric = Bleu(tokenize="none", smooth_method="floor", smooth_value=value, effective_order=True)
        return corpus(metric, case["hyp"], by_example(case["refs"]))["bleu"] / 100

    pairs = [(floor(case, 0.01), case["score"]) for case in cases["raw_corpus_bleu_floor_0.01_over_100"]]
    for case in cases["statistics"]:
        pairs += [(floor(case, value), case[f"score_floor_{value}_over_100"]) for value in (0.1, 0)]
        metric = Bleu(tokenize="none")
        counts = metric.statistics(Batch(case["hyp"], by_example(case["refs"])))[0]
        row = dict(zip(metric.columns, counts.tolist(), strict=True))
        pairs += [(row[f"{what}{n + 1}"], case[what][n]) for what in ("correct", "total") for n in range(4)]
    for case in cases["compute_bleu"]:
        given = [case["sys_len"], case["ref_len"], *case["correct"], *case["total"], *case["total"]]
        pairs.append((Bleu().score(np.array(given, float))[0] / 100, case["score_over_100"]))
    yield Row(name, "corpus BLEU; smooth floor, effective_order; counts", SACREBLEU, [pairs], FULL)


def sacrebleu_others() -> Iterator[Row]:
    name, cases = "sacrebleu_inline", goldens("sacrebleu_inline")
    options = ("tokenize", "lowercase", "smooth_method", "smooth_value")
    pairs = [
        (sentence(Bleu(**{key: case[key] for key in options}), case["hyp"], case["refs"]), case["score"])
        for case in cases["sentence_bleu"]["cases"]
    ]
    label = "sentence BLEU; tokenize, lowercase, smooth exp, floor, add-k, none"
    yield Row(name, label, SACREBLEU, [pairs], 3, True, (CUT_OFF,))

    chrf = {
        "epssmoothing": Chrf(beta=3, eps_smoothing=True),
        "effective_order": Chrf(beta=3),
        "keep_whitespace": Chrf(beta=3, whitespace=True),
    }
    pairs = [
        (corpus(metric, case["hyps"], by_example(case["refs"]))["chrf"], case["score"])
        for key, metric in chrf.items()
        for case in cases["chrf"][f"corpus_char6_word0_beta3_{key}"]
    ]
    yield Row(name, "corpus chrF; beta=3, eps_smoothing, whitespace", SACREBLEU, [pairs], 4, notes=(CHRF,))
    pairs = [
        (sentence(Chrf(eps_smoothing=True), case["hyp"], case["refs"]), case["score"])
        for case in cases["chrf"]["sentence_chrf2_epssmoothing"]
    ]
    yield Row(name, "sentence chrF; eps_smoothing", SACREBLEU, [pairs], 4)
    pairs = [
        (corpus(Ter(), case["hyps"], by_example(case["refs"]))["ter"], case["score"]) for case in cases["ter"]["cases"]
    ]
    yield Row(name, "corpus TER", SACREBLEU, [pairs], 3)


def nltk_inline() -> Iterator[Row]:
    name, given = "nltk_inline", goldens("nltk_inline")
    texts, cases = given["strings"], given["cases"]
    references = [texts[f"reference{i}"] for i in (1, 2, 3)]
    outputs = [texts["hypothesis1"], texts["hypothesis_b"]]
    bleu = Bleu(tokenize="none", smooth_method="none")
    nist = Nist(tokenize="none", lowercase=False)
    both = [references, [texts["reference_b"]]]
    mean = sum(sentence(bleu, *pair) for pair in zip(outputs, both, strict=True)) / 2
    pairs: dict[str, Pairs] = {"BLEU": [], "NIST": []}
    for case in cases:
        what, output = case["metric"], texts.get(case.get("hyp"))
        if what.startswith("sentence BLEU"):
            pairs["BLEU"].append((sentence(bleu, output, references) / 100, case["expected"]))
        elif what.startswith("corpus BLEU"):
            pairs["BLEU"].append((corpus(bleu, outputs, both)["bleu"] / 100, case["expected"]))
        elif what.startswith("mean of the two sentence BLEUs"):
            pairs["BLEU"].append((mean / 100, case["expected"]))
        elif what.startswith("sentence NIST"):
            pairs["NIST"].append((sentence(nist, output, references), case["expected"]))
    labels = {
        "BLEU": "BLEU; tokenize none, smooth none; sentences, their mean, corpus",
        "NIST": "sentence NIST; tokenize none, lowercase no",
    }
    for metric, label in labels.items():
        yield Row(name, label, NLTK, [pairs[metric]], 4, True, (CUT_OFF, GLEU))


def captions() -> Iterator[Row]:
    name, given = "captions_tiny", goldens("captions_tiny")

    def bleu(outputs: Iterable[str], references: Iterable[Sequence[str]], expected: Mapping[str, float]) -> Pairs:
        outputs = [text.replace(".", "") for text in outputs]
        references = [[text.replace(".", "") for text in refs] for refs in references]
        metrics = {n: Bleu(tokenize="none", smooth_method="none", max_order=n) for n in range(1, 5)}
        return [(corpus(m, outputs, references)["bleu"] / 100, expected[f"BLEU-{n}"]) for n, m in metrics.items()]

    label = "BLEU-1 to 4; tokenize none, smooth none"
    golden = given["clipscore_example"]
    pairs = [
        pair
        for kind in ("good", "bad")
        for pair in bleu(
            golden[kind].values(), [golden["refs"][key] for key in golden[kind]], golden[f"expected_{kind}"]
        )
    ]
    yield Row(name, label, "pycocoevalcap", [pairs], 4, notes=(CAPTIONS,))
    golden = given["nlgeval_example"]
    pairs = bleu(golden["hyps"], by_example(golden["refs"]), golden["expected"])
    yield Row(name, label, "nlg-eval", [pairs], 6, notes=(CAPTIONS,))


def multi_bleu(name: str) -> Iterator[Row]:
    values = goldens(name)["multi_bleu_rerun"]["values"]
    ours = {system: corpus(Bleu(tokenize="none", smooth_method="none"), *read(name, system)) for system in values}
    label = f"corpus BLEU; tokenize none, smooth none; {len(values)} systems"
    yield Row(name, label, MULTI_BLEU, [[(ours[s]["bleu"], values[s]["bleu"]) for s in values]], 2)
    pairs = [(ours[s][f"bleu.p{n + 1}"], values[s]["precisions"][n]) for s in values for n in range(4)]
    yield Row(name, "of it the precisions", MULTI_BLEU, [pairs], 1)
    lengths = {"bp": "bp", "ratio": "ratio", "sys_len": "hyp_len", "ref_len": "ref_len"}
    pairs = [(ours[s][f"bleu.{key}"], values[s][other]) for s in values for key, other in lengths.items()]
    yield Row(name, "of it the brevity penalty, length ratio, lengths", MULTI_BLEU, [pairs], 3)


def compare_mt() -> Iterator[Row]:
    name = "comparemt_ted"
    yield from multi_bleu(name)
    values = goldens(name)["values"]["sys1"]
    outputs, references = read(name, "sys1")
    add_1 = Bleu(tokenize="none", smooth_method="add-k")
    theirs = next(value for key, value in values.items() if key.startswith("sentbleu"))
    pairs = [(sentence(add_1, outputs[0], references[0]), theirs)]
    yield Row(name, "sentence BLEU; tokenize none, smooth add-k; first example", "compare-mt", [pairs], FULL)
    pairs = [
        (sentence(Chrf(), outputs[0], references[0]), values["chrf_first (rounded)"]),
        (corpus(Chrf(), outputs, references)["chrf"], values["chrf_corpus (rounded)"]),
    ]
    yield Row(name, "chrF; first example, corpus", "compare-mt", [pairs], notes=(COMPARE_MT,))
    name = "comparemt_ted_detok"
    theirs = goldens(name)["values"]["sys1"]["sacrebleu (tok 13a)"]
    yield Row(name, "corpus BLEU; 1 system", SACREBLEU, [[(corpus(Bleu(), *read(name, "sys1"))["bleu"], theirs)]])


def multeval() -> Iterator[Row]:
    name, given = "multeval_example", goldens("multeval_example")
    yield from multi_bleu(name)
    bleu = Bleu(tokenize="none", smooth_method="none")
    pairs: Pairs = []
    for system, theirs in given["table"].items():
        runs = [corpus(bleu, *read(name, f"{system}.opt{i}")) for i in range(3)]
        for key, other, factor in (("bleu", "BLEU", 1), ("bleu.ratio", "Length", 100)):
            if other in theirs:
                pairs.append((factor * sum(run[key] for run in runs) / 3, theirs[other]))
    yield Row(name, "BLEU and length ratio, means of three runs; tokenize none, smooth none", "MultEval", [pairs], 1)
    pairs = []
    for system, theirs in given["table"].items():
        runs = [corpus(Ter(), *read(name, f"{system}.opt{i}")) for i in range(3)]
        pairs.append((sum(run["ter"] for run in runs) / 3, theirs["TER"]))
    yield Row(name, "TER, means of three runs", "MultEval", [pairs], 1)
    theirs = given["baseline.opt0"]["TER_reg_test_gold"]
    pairs = [(corpus(Ter(), *read(name, "baseline.opt0"))["ter"] / 100, theirs)]
    yield Row(name, "corpus TER; baseline.opt0", "MultEval", [pairs], FULL, notes=(TERCOM,))


# ---------------------------------------------------------------- ROUGE


def perl_metric(options: str, types: Iterable[str]) -> Rouge:
    """From the script's own options and names."""
    words, given = iter(options.split()), dict[str, Any]()
    for word in words:
        if word == "-m":
            given["stemmer"] = True
        elif word == "-s":
            given["stopwords"] = str(DATA / "rouge155_options" / "stopwords_smart.txt")
        elif word != "-U":
            option, kind = PERL_OPTIONS[word]
            given[option] = kind(next(words))
    short = (type_.removeprefix("ROUGE-") for type_ in types)
    return Rouge(compat="rouge155", types=["rouge" + PERL_TYPES.get(type_, type_) for type_ in short], **given)


def perl_row(name: str, options: str, systems: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> Row:
    examples: list[Pairs] = []
    for system, scores in systems.items():
        metric = perl_metric(options, scores)
        outputs, references = read(name, system)
        ours = metric.score_examples(metric.statistics(Batch(outputs, references)))
        theirs = np.array(list(scores.values()))[..., ::-1]  # (types, n, 3): F, precision, recall, as ours
        theirs = theirs.transpose(1, 0, 2).reshape(ours.shape)
        examples += [list(zip(*both, strict=True)) for both in zip(ours.tolist(), theirs.tolist(), strict=True)]
    types = ", ".join(type_.removeprefix("ROUGE-") for type_ in scores)
    count = f"{len(systems)} system{'s' if len(systems) > 1 else ''}"
    notes = (PER_EXAMPLE, WORDNET) if "-m" in options.split() else (PER_EXAMPLE,)
    return Row(name, f"ROUGE {types}; `{options}`; {count}", PERL, examples, 5, notes=notes)


def rouge() -> Iterator[Row]:
    yield perl_row("comparemt_sum", "-2 4 -U", goldens("comparemt_sum", "rouge155_per_example.json"))
    scores = goldens("google_rouge_large", "rouge155_per_example.json")
    yield perl_row("google_rouge_large", "-2 -1 -U", {"prediction": scores["no_stemming"]})
    yield perl_row("google_rouge_large", "-2 -1 -U -m", {"prediction": scores["stemming_-m"]})
    for options, systems in goldens("rouge155_options")["option_sets"].items():
        yield perl_row("rouge155_options", options, systems)


# ---------------------------------------------------------------- the page


def main() -> None:
    if not DATA.is_dir():
        print("there is no ../shared/data beside the repository; nothing to compare with, nothing written")
        return
    notes: list[str] = []
    table = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | ---: | ---: | ---: |"]
    parts = (wmt22, wmt15, sacrebleu_corpus_bleu, sacrebleu_others, nltk_inline, captions, compare_mt, multeval, rouge)
    print(*table, sep="\n")
    for row in (row for part in parts for row in part()):
        notes += [note for note in row.notes if note not in notes]
        cells = row.cells()
        cells[1] += "".join(f" ({notes.index(note) + 1})" for note in row.notes)
        table.append(f"| {' | '.join(cells)} |")
        print(table[-1], flush=True)
    numbered = [f"{i}. {note}" for i, note in enumerate(notes, 1)]
    print("", *numbered, sep="\n")
    opening = [
        "# Agreement",
        "",
        "*Not run here: it needs data that is not part of this repository.*",
        "",
        "```console",
        "$ python -m benchmarks.agreement",
        "```",
        "",
        "Our lexical metrics compared with scores that others published or that the reference tools gave.",
        "",
        "A value agrees if it has the digits that the tool prints or, if these are nine or more, is within 1e-9.",
        "The largest difference is taken after rounding as the tool does; at nine digits or more, without rounding.",
        "",
    ]
    PAGE.write_text("\n".join([*opening, *table, "", *numbered, ""]), encoding="utf-8")
    print(f"\nwritten to docs/{PAGE.name}")


if __name__ == "__main__":
    main()
