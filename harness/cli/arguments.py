"""Options that several commands share, and the records that they become. Nothing heavy is imported before it is
needed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.inputs.choices import CORRECTION, CORRECTIONS, LEVEL, QUESTIONS, RESAMPLES, SEED, TESTS

if TYPE_CHECKING:
    from harness.analysis.stored.trust import Trust
    from harness.stats.options import ComparisonOptions
    from harness.types import Progress, RunResult

RUN = (
    "a run folder or a folder of them, a run's name (the newest) or MLflow run id; NAME=GLOB: all runs that fit, as "
    "seeds of one system"
)


def resampling(command: argparse.ArgumentParser, scores: bool = True) -> None:
    """Options of every command that resamples stored runs."""
    if scores:
        command.add_argument("--score", metavar="NAME", action="append", help="this score only; may be repeated")
    command.add_argument("--level", type=float, default=LEVEL, help="confidence level (default: %(default)s)")
    command.add_argument(
        "--resamples", type=int, metavar="N", default=RESAMPLES, help="of the examples (default: %(default)s)"
    )
    command.add_argument("--seed", type=int, metavar="N", default=SEED, help="of the resamples (default: %(default)s)")
    command.add_argument("--no-progress", action="store_true", help="no progress bar")


def testing(command: argparse.ArgumentParser) -> None:
    """Options of every command that shows what the tests say."""
    command.add_argument("--test", choices=TESTS, default=TESTS[0], help="paired, of each score (default: %(default)s)")
    command.add_argument(
        "--correction",
        choices=tuple(CORRECTIONS),
        default=CORRECTION,
        help="correction of p-values over scores, systems and data sets (default: %(default)s)",
    )


def by_slice(command: argparse.ArgumentParser) -> None:
    """The option of commands that compare within slices of the data."""
    command.add_argument(
        "--by",
        dest="sliced_by",
        metavar="FIELD",
        help="by the slices of a field of the data, an expression such as 'len(source) > 200', source_length, "
        "reference_length, word_frequency or novelty; p-values are adjusted over all slices",
    )


def grouping(command: argparse.ArgumentParser, question: bool = True) -> None:
    """Options of every command that takes seeds of a system as one."""
    command.add_argument(
        "--group-by",
        metavar="PARAMETER",
        help="runs that differ in this parameter of their config alone, such as system.seed, are seeds of one system "
        "(default: as they were run with group_by; none: each by itself)",
    )
    if question:
        command.add_argument(
            "--question",
            choices=QUESTIONS,
            help="which of these outputs are better, or which system would be with new seeds (default: seeds where "
            "every system has several)",
        )


def trusting(command: argparse.ArgumentParser) -> None:
    """Options of every command that scores stored rows: a run folder may come from anyone."""
    command.add_argument(
        "--trust",
        action="store_true",
        help="run the code and load the models that the run folders name, after showing them (default: metrics of this "
        "package only; scores of others are shown and not tested)",
    )
    command.add_argument("--config-dir", metavar="DIR", help="trust the metrics that DIR/metrics/*.yaml names")


def trusting_to_run(command: argparse.ArgumentParser) -> None:
    """Options of the commands that score stored runs anew, by their configs."""
    command.add_argument("--config-dir", metavar="DIR", help="a folder with YAML files of your own, as in harness run")
    command.add_argument(
        "--trust",
        action="store_true",
        help="run the code, load the models and log to the store that the run folder names, after showing them "
        "(default: only what you name too)",
    )


def trust_of(options: argparse.Namespace) -> Trust:
    from harness.analysis.stored.trust import Trust, in_folder

    return Trust(options.trust, specs=in_folder(options.config_dir) if options.config_dir else ())


def loaded(options: argparse.Namespace) -> tuple[list[RunResult], RunResult | None]:
    """(the runs, the baseline) that a command names."""
    from harness.analysis.comparing.groups import by_parameter
    from harness.analysis.stored.loading import loaded_runs

    trust = trust_of(options)
    runs = by_parameter(loaded_runs(options.runs, trust=trust)[0], getattr(options, "group_by", None))
    return loaded_runs(runs, getattr(options, "baseline", None), trust)


def as_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="only JSON on standard output")


def comparison_options(options: argparse.Namespace) -> ComparisonOptions:
    """How to compare; what the command has no option for has its default."""
    from dataclasses import fields

    from harness.stats.options import ComparisonOptions

    names = {field.name for field in fields(ComparisonOptions)} & vars(options).keys()
    scores = None if options.score is None else tuple(options.score)
    return ComparisonOptions(**{name: getattr(options, name) for name in names}, scores=scores)


def margins(given: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """(score, margin) of each `SCORE=X`."""
    from harness.types import HarnessError

    pairs = []
    for text in given:
        score, _, number = text.partition("=")
        try:
            pairs.append((score.strip(), float(number)))
        except ValueError:
            raise HarnessError(
                f"--margin {text}: {number!r} is no number; expected SCORE=X, such as bleu=0.5"
            ) from None
    return tuple(pairs)


def progress(options: argparse.Namespace) -> Progress:
    """Bars on standard error, unless they are not wanted."""
    from harness.report.terminal.progress import bars

    shown: Progress = bars(not options.no_progress)
    return shown
