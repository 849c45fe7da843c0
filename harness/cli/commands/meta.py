"""`harness meta RUN… --human FILE`: how well metrics agree with people."""

from __future__ import annotations

from typing import Any

from harness.cli.arguments import RUN, as_json, loaded, progress, resampling, trusting
from harness.cli.output import print_json, show_warnings, tell
from harness.inputs.choices import CORRECTION, CORRECTIONS, META_DRAWN, META_GROUPS, META_RESAMPLES

FIGURES = ("systems", "outputs")


def add(commands: Any) -> None:
    meta = commands.add_parser(
        "meta",
        help="agreement of metrics with people, and human scores predicted from a few",
        description="Joins runs on one data set with a file of human scores, and says how well each metric agrees with "
        "people on single outputs and on systems, with intervals, and which metric agrees better.",
    )
    meta.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    meta.add_argument("--human", metavar="FILE", required=True, help="human scores: .jsonl .json .csv .tsv .parquet "
                      "with id, system (a run's system or name) and a score")  # fmt: skip
    meta.add_argument("--score-field", metavar="NAME", help="the column of the human scores (default: score, or the "
                      "one column of numbers)")  # fmt: skip
    meta.add_argument("--id-field", metavar="NAME", help="the column of the examples' ids (default: id)")
    meta.add_argument("--lower-is-better", action="store_true", help="people gave less to better outputs")
    meta.add_argument("--group", choices=META_GROUPS, help="which outputs are compared: those for one item (default "
                      "with several runs), of one system, or all (none)")  # fmt: skip
    meta.add_argument("--coefficient", metavar="NAME", action="append", default=[], help="show and test this one: "
                      "pearson, spearman, kendall_b, kendall_c, acc_eq of outputs; pearson, kendall, accuracy, spa of "
                      "systems; may be repeated (default: all shown, acc_eq and spa tested)")  # fmt: skip
    meta.add_argument("--resample", choices=META_DRAWN, default=META_DRAWN[0], help="what other data would have had "
                      "others of (default: %(default)s)")  # fmt: skip
    meta.add_argument("--correction", choices=tuple(CORRECTIONS), default=CORRECTION, help="of p-values over all tests "
                      "(default: %(default)s)")  # fmt: skip
    meta.add_argument("--predict", action="store_true", help="people judged a random part of the outputs: their scores "
                      "of all, and of differences between systems, with the help of each metric")  # fmt: skip
    meta.add_argument("-o", "--output", metavar="FILE", help="also a scatter plot: .pdf .png .svg .json .html")
    meta.add_argument("--figure", choices=FIGURES, help="what its points are (default: systems, where there are three)")
    resampling(meta)
    trusting(meta)
    as_json(meta)
    meta.set_defaults(call=call, resamples=META_RESAMPLES)


def call(options: Any) -> None:
    from harness.analysis.people.judgements import HumanFile
    from harness.analysis.people.meta_study import Asked, meta
    from harness.stats.people.panel import MetaOptions

    show_warnings()
    given = HumanFile(options.human, options.score_field, options.id_field, lower_is_better=options.lower_is_better)
    scores = None if options.score is None else tuple(options.score)
    asked = Asked(scores, tuple(options.coefficient), options.group, options.predict)
    chosen = MetaOptions(
        options.resamples, options.level, options.seed, drawn=options.resample, correction=options.correction
    )
    answer = meta(loaded(options)[0], given, asked, chosen, progress(options))
    figure = _draw(answer, options) if options.output else None
    if options.json:
        print_json(**answer.row())
        return
    from harness.report.terminal.people import print_agreement, print_predictions

    (print_predictions if options.predict else print_agreement)(answer)
    if figure is not None:
        tell(f"{options.output}\n  {figure.title}. {figure.caption}")


def _draw(answer: Any, options: Any) -> Any:
    from pathlib import Path

    from harness.analysis.figures.by_people import scatter_figure
    from harness.report.charts.rendering import SUFFIXES, rendered
    from harness.store import atomic
    from harness.types import HarnessError

    place = Path(options.output)
    suffix = place.suffix.lower()
    if suffix not in SUFFIXES:
        raise HarnessError(f"-o {place}: no figure can be written as {suffix!r}; expected {' '.join(SUFFIXES)}")
    figure = scatter_figure(answer, options.figure)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(place, rendered(figure, suffix))
    except OSError as error:
        raise HarnessError(f"{place} cannot be written ({error.strerror or error}); expected a writable path") from None
    return figure
