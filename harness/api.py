"""The Python interface: evaluate in memory, load stored runs, compare either, show them as tables, figures and pages.

A facade that nothing else imports: each function makes the records that the rooms below work with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.analysis import importing
from harness.analysis.comparing import comparing, noise, training_curves
from harness.analysis.comparing.noise import Variance
from harness.analysis.gate import gating, policies
from harness.analysis.gate.gating import Gated
from harness.analysis.papers import verifying
from harness.analysis.papers.verifying import Verified
from harness.analysis.people import meta_study
from harness.analysis.people.judgements import HumanFile
from harness.analysis.stored import loading
from harness.analysis.stored.loading import Run
from harness.analysis.stored.trust import Trusted
from harness.analysis.sweeps import dev_to_test as chosen
from harness.analysis.sweeps import sweep_study as swept
from harness.analysis.sweeps.dev_to_test import Reported
from harness.analysis.sweeps.sweep_study import Swept
from harness.inputs.choices import CORRECTION, LEVEL, META_DRAWN, META_RESAMPLES, METHOD, RESAMPLES, SEED
from harness.inputs.handed_columns import listed
from harness.report.terminal.progress import silent
from harness.run import logged_data, memory
from harness.run.config import Choice, chosen_metrics
from harness.run.from_log import Destination
from harness.run.memory import STRATUM, Columns
from harness.stats.options import ComparisonOptions, Options
from harness.stats.people.panel import MetaOptions
from harness.stats.power.detection import POWER, Power
from harness.stats.power.experiments import Aim
from harness.stats.selection.by_step import CurveOptions
from harness.stats.selection.winner import Best
from harness.types import Comparisons, Curve, HarnessError, Progress, RunRecord, RunResult
from harness.types.results import Records
from harness.types.shown import bests_of, curves_of, powers_of, variances_of


def evaluate(
    outputs: Sequence[str],
    references: Sequence[Sequence[str] | str] | None = None,
    metrics: Sequence[Choice] | Choice = "standard",
    sources: Sequence[str | None] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
    method: str = METHOD,
    ids: Sequence[str | int] | None = None,
    clusters: Sequence[Any] | None = None,
    strata: Sequence[Any] | None = None,
    name: str = "outputs",
    contexts: Sequence[Sequence[Any] | None] | None = None,
    reference_contexts: Sequence[Sequence[Any] | None] | None = None,
    relevant: Sequence[Sequence[str] | Mapping[str, float] | None] | None = None,
) -> RunResult:
    """Scores outputs against references, with no files and no MLflow. Columns are lists, or columns of pandas, polars,
    Arrow, NumPy or `datasets`; of a whole table, its only column or the one called `output`, `references`, `source`, ….

    A metric is a name with its defaults, a dict of options `{"bleu": {"tokenize": "zh"}}`, or an object with the Metric
    seam; `references` may be left out where none of them needs any. `resamples=0` gives scores without intervals.
    `clusters` names the cluster of each example, `strata` its stratum. `contexts` is what was retrieved for each output
    (texts, or `{"id", "text", "score"}`), `reference_contexts` what should have been, `relevant` the ids of that, or
    grades by id.
    """
    columns = Columns(
        listed(outputs, "outputs", "output"),
        listed(references, "references", "references"),
        listed(sources, "sources", "source"),
        listed(ids, "ids", "id"),
        listed(clusters, "clusters", "cluster"),
        listed(strata, "strata", "stratum"),
        listed(contexts, "contexts", "contexts"),
        listed(reference_contexts, "reference_contexts", "reference_contexts"),
        listed(relevant, "relevant", "relevant"),
    )
    options = Options(resamples, level, method, seed, strata=None if strata is None else STRATUM)
    return memory.evaluate(columns, chosen_metrics(metrics), options, name)


def load_run(path: str | Path | RunRecord, trust: Trusted = False) -> RunResult:
    """A stored run: `.scores`, `.examples` (pandas), `.statistics`. `path` is a run folder, the name of a run below
    runs/ (the newest of that name), an MLflow run id, or what `harness.runs` lists.

    A folder may come from anyone, so that only metrics of this package are made because it names them. `trust=True`
    runs whatever else it names; metrics of your own that are handed in (`trust=[Mine()]`) score the rows that are
    stored under their names. Without either such a metric has its scores and no statistics: `.untested` names it.
    """
    return loading.load_run(path, trust)


def compare(
    runs: Sequence[Run],
    baseline: Run | None = None,
    test: str = "bootstrap",
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
    method: str = METHOD,
    alternative: str = "two-sided",
    correction: str = CORRECTION,
    scores: Sequence[str] | None = None,
    cross_check: bool = False,
    question: str | None = None,
    margins: Mapping[str, float] | None = None,
    posterior: bool = False,
    progress: Progress = silent,
    trust: Trusted = False,
    by: str | None = None,
) -> Comparisons:
    """Paired comparison of runs on the same data: each against the baseline, or all pairs where there is none.

    Runs are grouped by their data; in a group without the baseline run itself, the run of the same system is taken.
    `scores` restricts the family to these headline scores; `cross_check` adds the paired t-test and Wilcoxon's signed
    ranks where a score is a mean over examples; `margins={"bleu": 0.5}` also tests whether the system is equivalent, or
    not worse, within differences that do not matter; `posterior` adds the probability that the system is better, and
    with a margin that the difference is smaller, by the Bayesian bootstrap; `by` compares within the slices of a
    field or an expression.
    `question` is `outputs` (which of these are better) or `seeds` (which system would be with new seeds); without it,
    of seeds where every system has several. A run may be a group, `"ours=runs/ours-seed*"`, whose members are seeds of
    one system. The result is a list of rows; its `.macro` holds the averages over data sets, `.interactions` whether
    differences vary between slices.
    """
    options = ComparisonOptions(
        test, resamples, level, seed, method, alternative, correction, _several(scores), cross_check,
        margins=tuple((margins or {}).items()), question=question, sliced_by=by, posterior=posterior,
    )  # fmt: skip
    return comparing.compare(*_trusted(runs, baseline, trust), options, progress)


def gate(
    runs: Run | Sequence[Run],
    baseline: Run | Sequence[Run],
    margins: Mapping[str, float] | None = None,
    policy: Mapping[str, Any] | str | Path | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
    trust: Trusted = False,
) -> Gated:
    """Has a change made it worse? Each run against the baseline on the same data: `.verdict` is `better`, `not worse`,
    `worse` or `cannot tell`, `.code` what the command ends with, `.checks` what was asked and why it was answered so.

    A run, or several on different data, each with its baseline there.
    `margins={"bleu": 0.5}` are losses that do not matter; `policy` is a YAML file, or what one holds (docs/gate.md).
    """
    if policy is None:
        asked = policies.Policy()
    else:
        asked = policies.load(policy) if isinstance(policy, str | Path) else policies.read(dict(policy), "policy")
    asked = asked.with_margins(tuple((margins or {}).items()))
    options = ComparisonOptions(resamples=resamples, level=level, seed=seed)
    return gating.gate(_listed(runs), _listed(baseline), asked, options, trust=trust)


def verify(
    files: str | Path | Sequence[str | Path], runs: str | Path | None = None, trust: Trusted = False
) -> Verified:
    """The numbers of documents against their runs: `.findings` has what is wrong, with file, line and column."""
    return verifying.verify([files] if isinstance(files, str | Path) else files, runs, trust)


def power(
    runs: Sequence[Run],
    difference: float | None = None,
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    level: float = LEVEL,
    power: float = POWER,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    question: str | None = None,
    correlation: float = 0.0,
    progress: Progress = silent,
    trust: Trusted = False,
) -> list[Power]:
    """What comparisons of these runs can detect: the smallest difference, the power for `difference` (by default the
    one seen; where given, of the scores of one metric), and the number of examples, clusters or seeds that would detect
    it, with the interval of that number. One run alone is a pilot: two systems like it, their scores of an example
    correlated by `correlation`."""
    options = ComparisonOptions(resamples=resamples, level=level, seed=seed, scores=_several(scores), question=question)
    aim = Aim(difference, power, level, correlation)
    return Records(comparing.power(*_trusted(runs, baseline, trust), options, aim, progress), powers_of)


def variance(
    runs: Sequence[Run],
    scores: Sequence[str] | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    group_by: str | None = None,
    trust: Trusted = False,
) -> list[Variance]:
    """Where the noise of each headline score comes from: examples, seeds, prompts or whatever differs between runs that
    should not matter, each with its share, the interval of that, and what two more of it would do.

    Each group (`"ours=runs/ours-seed*"`) and each run with several outputs of an example is taken by itself, all other
    runs on one data set together, or by `group_by`, the parameter that does not matter."""
    return Records(noise.variance(runs, noise.Asked(_several(scores), level, seed, group_by), trust), variances_of)


def best(
    runs: Sequence[Run],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
    split: bool = False,
) -> list[Best]:
    """The best of several runs on the same data by each headline score, corrected for having been chosen; `split`:
    chosen on a random half of the data and scored on the other."""
    options = Options(resamples=resamples, level=level, seed=seed)
    return Records(comparing.best(_trusted(runs, None, trust)[0], options, split, progress), bests_of)


def report_best(
    on: Sequence[Run],
    report: Sequence[Run],
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
) -> list[Reported]:
    """The best of the runs `on` one data set by each headline score, as the same system does in the runs of `report`,
    on data that had no say in the choice: the score and its interval need no correction."""
    options = CurveOptions(Options(resamples=resamples, level=level, seed=seed))
    chosen_from, reported = (_trusted(runs, None, trust)[0] for runs in (on, report))
    return chosen.report_chosen(chosen_from, reported, options, progress)


def curve(
    runs: Sequence[Run],
    margins: Mapping[str, float] | None = None,
    further: int | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
) -> list[Curve]:
    """The learning curves of checkpoints, by data set, training run and headline score: `.steps` with a band that holds
    at all of them at once, `.best`, `.earliest` (the first step that cannot be told from the best), `.trend` (whether
    it is still improving, and what `further` more steps could be worth at most). `margins={"bleu": 0.5}` also finds
    `.within`, the first step shown to be that near the best. `harness best` says it in words."""
    options = CurveOptions(
        Options(resamples=resamples, level=level, seed=seed), tuple((margins or {}).items()), further
    )
    return Records(training_curves.curves(_trusted(runs, None, trust)[0], options, progress), curves_of)


def sweep(
    *sweeps: Run | RunRecord | Sequence[Run | RunRecord],
    score: str | None = None,
    against: str | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    trust: Trusted = False,
) -> Swept:
    """A sweep: `.ledger.cells` with the state of each, and for each data set in `.parts` the means by level and the
    importance of each parameter, the best corrected for having been chosen, and the front of the score against what an
    output takes (`cost`, `tokens`, `seconds` or `latency`).

    A sweep is named by its folder, its group, the name of its runs, one of them or several, which may be runs that were
    loaded or a list; without a name, the newest.
    """
    given = [run for some in sweeps for run in (some if isinstance(some, list | tuple) else [some])]
    return swept.sweep([_place(run) for run in given], swept.Asked(score, against, level, resamples, seed), trust)


def meta(
    runs: Sequence[Run] | Run,
    human: str | Path,
    *,
    score_field: str | None = None,
    id_field: str | None = None,
    lower_is_better: bool = False,
    scores: Sequence[str] | None = None,
    coefficients: Sequence[str] = (),
    group: str | None = None,
    resample: str = META_DRAWN[0],
    predict: bool = False,
    correction: str = CORRECTION,
    level: float = LEVEL,
    resamples: int = META_RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
) -> meta_study.Meta:
    """How well the metrics of runs on one data set agree with people, whose scores are in the file `human`.

    `.agreement.coefficients` has a row for each metric and coefficient, of single outputs and of systems, with its
    interval; `.agreement.tests` says which metric agrees better. With `predict`, `.predictions` has the human score of
    all outputs, and of differences between systems, from those of the judged ones and each metric. `group` is `item`,
    `system` or `none`, `resample` is `both`, `items` or `systems`; `scores` are the metrics' scores, `coefficients`
    those to show and test.
    """
    given = HumanFile(human, score_field, id_field, lower_is_better=lower_is_better)
    asked = meta_study.Asked(_several(scores), tuple(coefficients), group, predict)
    options = MetaOptions(resamples, level, seed, drawn=resample, correction=correction)
    return meta_study.meta(_trusted(runs, None, trust)[0], given, asked, options, progress)


def table(
    runs: Sequence[Run] | Run,
    format: str = "markdown",
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    interval: str = "bounds",
    digits: int | str = "auto",
    caption: str | None = None,
    label: str | None = None,
    test: str = "bootstrap",
    correction: str = CORRECTION,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
    by: str | None = None,
) -> str:
    """A results table of stored runs: systems as rows in the order given, scores as columns, data sets as groups.

    Bold is the best together with all that the adjusted tests cannot tell apart from it; with a baseline, † and ‡ are
    significantly better and worse than it. `format` is `markdown`, `latex` (with `caption`, as LaTeX, and `label`) or
    `csv`; `scores` are headline scores, which are tested, or sub-scores, which are not; `interval` is `bounds`,
    `plus-minus` or `none`; `digits` are as many as the intervals' width deserves, as many as each metric says
    (`metric`), or a number. Intervals are those of the runs, computed anew where they are of another level; `by` groups
    rows by the slices of a field or an expression.
    """
    from harness.analysis.papers import tabulate

    options = ComparisonOptions(
        test, resamples, level, seed, correction=correction, scores=_several(scores), sliced_by=by
    )
    layout = tabulate.Layout(format, interval, digits, caption, label)
    return tabulate.table(*_trusted(runs, baseline, trust), layout, options, progress)


def plot(
    runs: Sequence[Run] | Run,
    figure: str = "forest",
    *,
    by: str | Sequence[str] = (),
    scores: Sequence[str] | None = None,
    baseline: Run | None = None,
    width: float | None = None,
    dark: bool = False,
    test: str = "bootstrap",
    correction: str = CORRECTION,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    progress: Progress = silent,
    trust: Trusted = False,
) -> Any:
    """One figure as an altair chart, which a notebook shows and `.save("figure.pdf")` writes.

    `figure` is forest, effects, matrix, differences, curve, sweep or buckets; `by` names the field of the buckets,
    `scores` the scores (the headline ones by default). Charts of several data sets or fields stand below each other.
    """
    from harness.analysis import figures

    options = ComparisonOptions(test, resamples, level, seed, correction=correction, scores=_several(scores))
    wanted = figures.Wanted(figure, (by,) if isinstance(by, str) else tuple(by), width)
    return figures.chart_of(figures.wanted_figures(*_trusted(runs, baseline, trust), wanted, options, progress), dark)


def write_report(
    runs: Sequence[Run],
    path: str | Path,
    baseline: Run | None = None,
    scores: Sequence[str] | None = None,
    title: str | None = None,
    by: Sequence[str] = (),
    alignments: int = 20,
    max_examples: int | None = None,
    test: str = "bootstrap",
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
    correction: str = CORRECTION,
    progress: Progress = silent,
    trust: Trusted = False,
) -> Path:
    """Writes the runs side by side as one HTML file and returns its path: the answer in a sentence, scores with
    intervals, figures, and every example to search, sort, filter and read.

    `by`: metadata fields that scores are also drawn by. `alignments`: for how many of the biggest wins and losses
    the words that BERTScore matched are kept. `max_examples`: how many examples are kept, the biggest differences and
    an even share of the rest. The same runs give the same bytes.
    """
    from harness.analysis.pages import pages

    options = ComparisonOptions(test, resamples, level, seed, correction=correction, scores=_several(scores))
    page = pages.PageOptions(title, tuple(by), alignments, max_examples)
    pages.write_page(Path(path), *_trusted(runs, baseline, trust), page, options, progress)
    return Path(path)


def import_logs(
    paths: Sequence[str | Path] | str | Path,
    format: str | None = None,
    *,
    output_dir: str | Path | None = None,
    scores: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    system: str | None = None,
    cluster: str | None = None,
    resamples: int = RESAMPLES,
    uri: str | None = "none",
    progress: Progress = silent,
) -> list[RunResult]:
    """Makes ordinary runs of other tools' logs, all of which are read before the first is written.

    `format` is `lm-eval`, `inspect`, `eee` or `aligned`, by default the first that fits. `scores` are those of the log
    to import, `metrics` are computed of the outputs as well. `system` is what the system is called, `cluster` the field
    by which samples belong together, both by default as the log has it. `uri` is the MLflow store, None the caller's
    own, `none` no store.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    asked = importing.Asked(given, format, _several(scores), system, cluster)
    folder = None if output_dir is None else str(output_dir)
    return list(importing.imported(asked, Destination(folder, uri, tuple(metrics), resamples), progress))


def log_dataset(
    data: RunResult | str | Path | Sequence[Mapping[str, Any]],
    name: str | None = None,
    *,
    uri: str | None = None,
    experiment: str | None = None,
) -> dict[str, str]:
    """Writes examples as an evaluation data set of MLflow, which `mlflow.genai.evaluate` and `dataset=mlflow` read.

    `data` is a data file as `dataset=file` reads it, rows with `source` and `references`, or a stored run, whose data
    is meant. `name` is by default the file's or the run's data set's; `uri` and `experiment` are as in `harness run`.
    Returns `name`, `dataset_id` and `digest`. The same data again changes nothing; other data of the same name
    replaces it, which is a new digest.
    """
    return logged_data.log_dataset(data, name, uri, experiment)


def export_run(run: str | Path, format: str, folder: str | Path = ".") -> list[Path]:
    """Writes a stored run as `eee` (Every Eval Ever), `lm-eval` or `csv` below a folder; returns the files."""
    return importing.exported(run, format, folder)


def _trusted(runs: Any, baseline: Run | None, trust: Trusted) -> tuple[Any, Run | None]:
    """The runs as they are, or loaded where the caller trusts more than this package."""
    if trust is False:
        return runs, baseline
    return loading.loaded_runs(_listed(runs), baseline, trust)


def _listed(runs: Run | Sequence[Run]) -> Sequence[Run]:
    return [runs] if isinstance(runs, Run) else runs


def _place(run: Any) -> str | Path:
    """What names a stored run."""
    if not isinstance(run, RunResult | RunRecord):
        return str(run)
    if run.path is None:
        raise HarnessError(f"{run.name} is in memory only; expected a stored run, which result.save() makes of it")
    return run.path


def _several(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)
