"""The commands. Nothing heavy is imported before it is known which one runs."""

from __future__ import annotations

import argparse
import atexit
import os
import re
import sys
from contextlib import suppress
from glob import glob, has_magic
from itertools import pairwise
from typing import NoReturn

from harness.cli.output import complain, guarded, show_tracebacks
from harness.cli.signals import Asked, exit_code, heeded
from harness.cli.starting import importing, left_as_it_is
from harness.inputs.visible import visible

HELP = {"--help", "-h"}
EPILOG = """examples
  harness run                                                   a baseline on the embedded data set
  harness run dataset=file dataset.path=dev.jsonl system=predictions system.path=sysA.jsonl
  harness run --multirun system=lead,lexrank metrics=lexical    several systems, one run each
  harness run --dry-run system=smollm2                          what would be generated, how long, at what cost
  harness score dev-sysA 'metrics=[chrf,ter]'                   more metrics on a stored run, nothing generated
  harness merge parts/* -o whole                                one run of the shards that a job array evaluated
  harness reproduce dev-sysA                                    the same again? --from system generates again
  harness run --from dev-sysA --trust limit=100                 a stored run once more, with changes
  harness bundle dev-sysA dev-sysB -o paper.zip                 all that a reader needs to check it, in one file
  harness runs dataset=dev since=7d 'bleu>30' --sort -bleu      the runs there are: filtered, sorted
  harness cache                                                 what runs share; --prune --older-than 30d
  harness compare runs/harness/dev-sysA-1f2e3d4c runs/harness/dev-sysB-5a6b7c8d
  harness compare dev-sysA dev-sysB --baseline dev-sysA --json  runs by name, the newest of each
  harness gate dev-new --baseline dev-old --margin bleu=0.5     in CI: exit 0 not worse, 1 worse, 3 cannot tell
  harness table dev-sysA dev-sysB -o scores.tex                 a table for a paper, bold by tests; also .md, .csv
  harness verify paper.tex table.md                             its numbers against their runs; exit 1: one is wrong
  harness power dev-sysA dev-sysB --score bleu --difference 0.5 how many examples it takes to tell them apart
  harness compare 'ours=runs/ours-seed*' 'base=runs/base-seed*' training seeds of two systems, as one run each
  harness variance 'ours=runs/ours-seed*'                       where the noise comes from, and what to buy against it
  harness best runs/sweep/*                                     the best of a sweep, corrected for the choice
  harness sweep runs/sweep                                      its cells, what its parameters do, what equals the best
  harness meta dev-sysA dev-sysB dev-sysC --human human.jsonl   which metric agrees with people, and how well
  harness plot runs/sweep/* --figure forest -o forest.pdf       a figure for a paper; without --figure, all
  harness sync                                                  log to MLflow what runs could not log
  harness report dev-sysA dev-sysB -o report.html               one HTML file to send: verdict, pictures, every example
  harness ui                                                    MLflow's pages on these runs
  harness init                                                  a project to begin with: harness.yaml and plug-ins
  harness completion bash --install                             options and names of runs on the Tab key

`harness COMMAND --help` says more."""


def main(arguments: list[str] | None = None) -> None:
    if arguments is None:  # a process of its own
        atexit.register(left_as_it_is)
    heard: list[Asked] = []
    try:
        with heeded() as heard, guarded():
            _main(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt as error:
        with suppress(OSError):  # the terminal may be gone
            print("\nharness: interrupted", file=sys.stderr)
        sys.exit(exit_code(error))
    except OSError:
        if not heard:
            raise
        sys.exit(exit_code(heard[0]))  # a terminal that was closed takes no last message


def _main(arguments: list[str]) -> None:
    if "--debug" in arguments:
        arguments = [a for a in arguments if a != "--debug"]
        os.environ["HYDRA_FULL_ERROR"] = "1"
    show_tracebacks()
    sys.path.append(os.getcwd())  # plug-ins of the user's own; last, so that they hide no library
    if arguments[:1] == ["run"] and HELP & set(arguments):
        _show_options(arguments[1:])
    if arguments[:1] == ["run"]:
        with importing():
            from harness.cli.hydra import run

            return run(arguments[1:])
    parser = _parser()
    if not arguments:
        parser.print_help(sys.stderr)
        sys.exit(2)
    options, more = parser.parse_known_args(_joined(arguments))
    words = getattr(options, "overrides", getattr(options, "where", None))
    if words is not None and not any(word.startswith("-") for word in more):
        words += more  # argparse takes them on one side of a flag only; people type them on both
    elif more:
        command = next(word for word in arguments if not word.startswith("-"))
        parser.error(f"unrecognized arguments: {' '.join(more)} (harness {command} --help shows those it has)")
    if isinstance(getattr(options, "runs", None), list):
        options.runs = _expanded(options.runs)
    from harness.types import HarnessError

    try:
        _know_project(options)
        options.call(options)
    except HarnessError as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            _end_with_traceback(options)
        complain(error)
        sys.exit(getattr(options, "error_code", 1))  # of some, 1 is an answer
    except Exception:
        _end_with_traceback(options)
    return None


def _expanded(runs: list[str]) -> list[str]:
    """Patterns of run folders in full: not every shell does it, and none does where they are quoted."""
    return [
        folder
        for run in runs
        for folder in (sorted(glob(run)) if has_magic(run) and not os.path.exists(run) else ()) or (run,)
    ]


def _end_with_traceback(options: argparse.Namespace) -> NoReturn:
    """Ends as Python does; of a command of which 1 is an answer, with the code of its errors."""
    if "error_code" not in options:
        raise
    sys.excepthook(*sys.exc_info())
    sys.exit(options.error_code)


def _know_project(options: argparse.Namespace) -> None:
    """The folder of YAML files is that of the project file where none is typed; plug-in code is found beside it."""
    from pathlib import Path

    from harness.inputs.project import code_beside, current

    project = current()
    if "config_dir" in options and options.config_dir is None and project.config_dir is not None:
        options.config_dir = str(project.config_dir)
    named = [] if getattr(options, "config_dir", None) is None else code_beside(Path(options.config_dir))
    sys.path.extend(folder for folder in (*project.code, *named) if folder not in sys.path)


def _show_options(words: list[str]) -> NoReturn:
    """`harness run --help`, which needs no Hydra."""
    from harness.cli.output import tell
    from harness.cli.run_help import help_text
    from harness.types import HarnessError

    try:
        tell(help_text([word for word in words if word not in HELP]).rstrip())
    except HarnessError as error:
        complain(error)
        sys.exit(1)
    sys.exit(0)


class _Parser(argparse.ArgumentParser):
    """What was typed may come from a pattern, and so from the names of files."""

    def error(self, message: str) -> NoReturn:
        from harness.types import nearest  # which brings NumPy

        if wrong := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            message += nearest(wrong[1], re.findall("'([^']*)'", wrong[2]))
        super().error(visible(message))


class _Help(argparse.RawDescriptionHelpFormatter):
    """Commands stand two columns further right than options, which argparse leaves out where it aligns their help."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action.choices, dict):  # the commands
            self._action_max_length += self._indent_increment


def _joined(arguments: list[str]) -> list[str]:
    """`--sort -bleu` as `--sort=-bleu`: argparse takes what begins with a dash for a flag."""
    for i, (word, following) in enumerate(pairwise(arguments)):
        if word == "--sort" and following.startswith("-") and not following.startswith("--"):
            return [*arguments[:i], f"{word}={following}", *arguments[i + 2 :]]
    return arguments


def _parser() -> argparse.ArgumentParser:
    from harness import __version__
    from harness.cli.commands import (
        best,
        bundle,
        cache,
        compare,
        completion,
        exporting,
        gate,
        importing_logs,
        init,
        merge,
        meta,
        plot,
        power,
        report,
        reproduce,
        runs,
        score,
        sweep,
        sync,
        table,
        ui,
        variance,
        verify,
    )

    parser = _Parser(
        prog="harness",
        description="Evaluate text generation: scores with intervals, comparisons with tests, every run in MLflow.",
        epilog=EPILOG,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"harness {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    commands.add_parser("run", help="evaluate systems on data sets (harness run --help)", add_help=False)

    # each says its options
    for command in (
        score,
        merge,
        runs,
        compare,
        gate,
        table,
        verify,
        plot,
        report,
        power,
        variance,
        best,
        sweep,
        meta,
        reproduce,
        bundle,
        importing_logs,
        exporting,
        cache,
        sync,
        ui,
        init,
        completion,
    ):
        command.add(commands)
    return parser


if __name__ == "__main__":
    main()
