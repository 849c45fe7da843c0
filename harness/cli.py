"""The commands. Nothing heavy is imported before it is known which one runs."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NoReturn

EPILOG = """examples
  harness run                                                   a baseline on the embedded data set
  harness run dataset=file dataset.path=dev.jsonl system=predictions system.path=sysA.jsonl
  harness run --multirun system=lead,lexrank metrics=lexical    several systems, one run each
  harness run --dry-run system=smollm2                          what would be generated, how long, at what cost
  harness score dev-sysA 'metrics=[chrf,ter]'                   more metrics on a stored run, nothing generated
  harness cache                                                 what runs share; --prune --older-than 30d
  harness compare runs/harness/dev-sysA-1f2e3d4c runs/harness/dev-sysB-5a6b7c8d
  harness compare dev-sysA dev-sysB --baseline dev-sysA --json  runs by name, the newest of each
  harness power dev-sysA dev-sysB --difference 0.5              how many examples it takes to tell them apart
  harness best runs/sweep/*                                     the best of a sweep, corrected for the choice
  harness ui                                                    MLflow's pages on these runs

`harness COMMAND --help` says more."""


def main(arguments: list[str] | None = None) -> None:
    try:
        _main(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nharness: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main(arguments: list[str]) -> None:
    if "--debug" in arguments:
        arguments = [a for a in arguments if a != "--debug"]
        os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.path.append(os.getcwd())  # plug-ins of the user's own; last, so that they hide no library
    if arguments[:1] == ["run"]:
        from harness.app import run

        return run(arguments[1:])
    parser = _parser()
    options, more = parser.parse_known_args(arguments)
    if options.call is _score and not any(word.startswith("-") for word in more):
        options.overrides += more  # argparse takes overrides on one side of a flag only; people type them on both
    elif more:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    from harness.types import HarnessError

    try:
        options.call(options)
    except HarnessError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        print(f"harness: {error}", file=sys.stderr)
        sys.exit(1)
    return None


def _parser() -> argparse.ArgumentParser:
    from harness import __version__

    parser = argparse.ArgumentParser(
        prog="harness",
        description="Evaluate text generation: scores with intervals, comparisons with tests, every run in MLflow.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"harness {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    commands.add_parser("run", help="evaluate systems on data sets (harness run --help)", add_help=False)

    score = commands.add_parser(
        "score",
        help="score a stored run again: more metrics, other postprocessing or intervals; nothing is generated",
        description="Scores a stored run by its config with OVERRIDES on top, into a run folder of its own. Chosen "
        "metrics are added to those of the run, ~metrics.NAME takes one away; nothing but the run folder is needed.",
    )
    score.add_argument("run", metavar="RUN", help="a run folder, a run's name (the newest) or MLflow run id")
    score.add_argument(
        "overrides",
        nargs="*",
        metavar="OVERRIDE",
        help="metrics=[chrf,ter] metrics.bleu.tokenize=zh postprocess=chat",
    )
    score.add_argument("--config-dir", metavar="DIR", help="a folder with YAML files of your own, as in harness run")
    score.set_defaults(call=_score)

    cache = commands.add_parser("cache", help="show or prune what runs below runs/ share: outputs and embeddings")
    cache.add_argument("--prune", action="store_true", help="remove what --older-than and --max-size say")
    cache.add_argument("--max-size", metavar="SIZE", help="with --prune: 2GB, 500MB; embeddings go first, then outputs")
    cache.add_argument("--older-than", metavar="AGE", help="with --prune: what was not used for 30d, 12h")
    cache.add_argument("--clear", action="store_true", help="remove everything")
    cache.set_defaults(call=_cache, parser=cache)

    compare = commands.add_parser("compare", help="paired comparison of stored runs")
    compare.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run folder, a run's name (the newest) or MLflow run id"
    )
    compare.add_argument("--baseline", metavar="RUN", help="compare each run with this one; without it, all pairs")
    compare.add_argument("--test", choices=("bootstrap", "randomization"), default="bootstrap")
    compare.add_argument(
        "--alternative",
        choices=("two-sided", "better", "worse"),
        default="two-sided",
        help="one-sided: only a better (worse) system counts (default: %(default)s)",
    )
    compare.add_argument(
        "--correction",
        choices=("max-t", "holm", "bh", "none"),
        default="max-t",
        help="of p-values over scores, systems and data sets (default: %(default)s)",
    )
    compare.add_argument(
        "--method", choices=("percentile", "basic", "bca", "normal"), default="percentile", help="of the intervals"
    )
    compare.add_argument("--cross-check", action="store_true", help="also the paired t-test and Wilcoxon's, for means")
    _common(compare)
    compare.set_defaults(call=_compare)

    power = commands.add_parser("power", help="what a comparison can detect, and how many examples it would take")
    power.add_argument("runs", nargs="+", metavar="RUN", help="two runs or more on the same data")
    power.add_argument("--baseline", metavar="RUN", help="against this run only; without it, all pairs")
    power.add_argument("--difference", type=float, help="the difference to detect (default: the one seen)")
    power.add_argument("--power", type=float, default=0.8, help="chance to detect it (default: %(default)s)")
    _common(power)
    power.set_defaults(call=_power)

    best = commands.add_parser("best", help="the best of several runs, corrected for having been chosen")
    best.add_argument("runs", nargs="+", metavar="RUN", help="the runs it is chosen from, all of them")
    _common(best, scores=False)
    best.set_defaults(call=_best)

    ui = commands.add_parser("ui", help="MLflow's pages on the store the runs were logged to")
    ui.add_argument("--uri", help="the tracking store (default: MLFLOW_TRACKING_URI, else runs/mlflow.db)")
    ui.add_argument("--host", default="127.0.0.1", help="(default: %(default)s)")
    ui.add_argument("--port", type=int, default=5000, help="(default: %(default)s)")
    ui.set_defaults(call=_ui)
    return parser


def _common(command: argparse.ArgumentParser, scores: bool = True) -> None:
    """Options of every command that resamples stored runs."""
    if scores:
        command.add_argument("--score", metavar="NAME", action="append", help="this score only; may be given again")
    command.add_argument("--level", type=float, default=0.95, help="confidence level (default: %(default)s)")
    command.add_argument("--resamples", type=int, default=10_000, help="(default: %(default)s)")
    command.add_argument("--seed", type=int, default=12345, help="(default: %(default)s)")
    command.add_argument("--json", action="store_true", help="only JSON on standard output")
    command.add_argument("--no-progress", action="store_true", help="no progress bar")


def _settings(options: Any, *names: str) -> dict[str, Any]:
    """What the commands that resample hand on; warnings go to standard error."""
    import logging

    from harness.report.progress import bars

    logging.basicConfig(level=logging.WARNING, format="harness: %(message)s", stream=sys.stderr, force=True)
    given = {name: getattr(options, name) for name in ("level", "resamples", "seed", *names)}
    return {**given, "progress": bars(not options.no_progress)}


def _print_json(**fields: Any) -> None:
    import json

    print(json.dumps({"schema": 1, **fields}, indent=2))


def _compare(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import compare
    from harness.stats.ranking import rankings

    chosen = ("test", "alternative", "correction", "method", "cross_check")
    rows = compare(options.runs, baseline=options.baseline, scores=options.score, **_settings(options, *chosen))
    ranked = rankings(rows)
    if options.json:
        fields = {name: getattr(options, name) for name in ("test", "alternative", "correction", "method", "level")}
        fields |= {"resamples": options.resamples, "seed": options.seed}
        fields |= {"comparisons": [asdict(row) for row in rows], "macro_average": [asdict(row) for row in rows.macro]}
        _print_json(**fields, rankings=[asdict(ranking) for ranking in ranked])
    else:
        from harness.report.comparisons import print_comparisons

        print_comparisons(rows, ranked, options.level, options.test, options.correction)


def _power(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import power

    settings = _settings(options, "baseline", "difference", "power")
    rows = power(options.runs, scores=options.score, **settings)
    if options.json:
        _print_json(level=options.level, power=options.power, rows=[asdict(row) for row in rows])
    else:
        from harness.report.comparisons import print_powers

        print_powers(rows, options.power)


def _best(options: Any) -> None:
    from dataclasses import asdict

    from harness.api import best

    rows = best(options.runs, **_settings(options))
    if options.json:
        _print_json(level=options.level, rows=[asdict(row) for row in rows])
    else:
        from harness.report.comparisons import print_best

        print_best(rows)


def _score(options: Any) -> None:
    from harness.app import score

    score(options.run, options.overrides, options.config_dir)


def _cache(options: Any) -> None:
    import logging
    import time

    from harness.report.terminal import print_cache
    from harness.runner import SHARED
    from harness.store.arrays import ArrayStore
    from harness.store.cache import OutputCache

    logging.basicConfig(level=logging.WARNING, format="harness: %(message)s", stream=sys.stderr, force=True)
    if options.prune != bool(options.max_size or options.older_than):
        options.parser.error("--prune, --max-size and --older-than: expected --prune with one or both of the others")
    cache, arrays = OutputCache(SHARED / "outputs.sqlite"), ArrayStore(SHARED / "arrays.sqlite")
    if options.prune or options.clear:
        most = 0 if options.clear else _amount(options, "max_size", SIZES)
        age = _amount(options, "older_than", AGES)
        since = None if age is None else time.time() - age
        gone = cache.store.prune(most, since)
        left = None if most is None else max(0, most - cache.store.usage().size)
        gone += arrays.prune(left, since)
        print(f"{gone:,} entries removed", file=sys.stderr)
    print_cache(str(SHARED), cache.store.usage(), cache.by_system(), arrays.usage())


SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
AGES = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _amount(options: Any, name: str, units: dict[str, int]) -> int | None:
    """`2GB` in bytes, `30d` in seconds."""
    given = getattr(options, name)
    if given is None:
        return None
    for unit, factor in units.items():
        number = given.removesuffix(unit)
        if number != given and number.replace(".", "", 1).isdecimal():
            return int(float(number) * factor)
    expected = ", ".join(f"2{unit}" for unit in units)
    return options.parser.error(f"--{name.replace('_', '-')} {given}: expected a number and its unit: {expected}")  # type: ignore[no-any-return]


def _newest_uri() -> str | None:
    """The store that the newest run below runs/ was logged to."""
    from harness.runner import RUNS
    from harness.store.folder import stored_runs

    logged = [(m["ended"], m["mlflow"]["uri"]) for _, m in stored_runs(RUNS) if m["mlflow"]]
    return max(logged)[1] if logged else None


def _ui(options: Any) -> NoReturn:
    """Becomes MLflow's server."""
    from pathlib import Path

    from harness.tracking.mlflow import default_uri
    from harness.types import HarnessError

    uri = options.uri or os.environ.get("MLFLOW_TRACKING_URI") or _newest_uri() or default_uri(Path("runs"))
    if uri.startswith("http"):
        print(f"These runs are on a tracking server; open {uri}")
        sys.exit(0)
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).exists():
        raise HarnessError(
            f"{uri.removeprefix('sqlite:///')} does not exist; expected the store of earlier runs "
            "(call this in the folder where you called harness run, or give --uri)"
        )
    # without the parameter MLflow opens on its pages for traces, which evaluations do not have
    page = f"http://{options.host}:{options.port}/#/experiments?workflowType=machine_learning"
    print(f"MLflow on {uri}\nopen {page}\n(Ctrl-C ends it)", flush=True)
    command = ["server", "--backend-store-uri", uri, "--host", options.host, "--port", str(options.port)]
    command += ["--workers", "1"]  # for one person: MLflow's four take four times as long to start
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *command])


if __name__ == "__main__":
    main()
